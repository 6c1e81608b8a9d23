function mpc = two_buses   % comment
mpc.version = '2';
mpc.baseMVA = 100;
%{
a block comment
%}
mpc.bus = [
  1 3 0 0 0 0 1 1.02 0 345 1 1.1 0.9;
  2 1 90, 30 0 0 1 1 0 ... continued
    345 1 1.1 0.9;
];
mpc.gen = [1 0 0 300 -300 1.02 100 1 250 10];
mpc.branch = [
  1 2 0.01 0.085 0.176 Inf 250 250 0 0 1 -360 360
];
mpc.bus_name = {'North'; "South"};
