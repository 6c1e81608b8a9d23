baseMVA = +1e2
bus=[];gen=[
];branch = [

];