#include "driver/first_factorization.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/factorizer.h"
#include "core/scalar.h"
#include "sparse_leftlooking/rungs.h"
#include "symbolic/analyze_with_plan.h"

namespace lulab {
namespace {

constexpr FirstFactorization firsts[] = {FirstFactorization::rung, FirstFactorization::reference,
                                         FirstFactorization::klu};

template <class S>
Result<Analysis> choose_pivots_in(const Rung& chooser, const FactorOptions& options, const Analysis& analysis,
                                  const CscView<double>& a) {
  const auto factorizer = chooser.make<S>(options.only(chooser.facts.options));
  LULAB_RETURN_IF_ERROR(factorizer->analyze(analysis));
  LULAB_RETURN_IF_ERROR(factorizer->upload(a.values));
  LULAB_RETURN_IF_ERROR(factorizer->factor());
  LULAB_RETURN_IF_ERROR(factorizer->wait());
  LULAB_ASSIGN_OR_RETURN(auto factors, factorizer->download());
  return analyze_with_fill(a, std::move(factors.plan), std::move(factors.filled));
}

}  // namespace

std::string_view to_string(FirstFactorization first) {
  switch (first) {
    case FirstFactorization::rung: return "rung";
    case FirstFactorization::reference: return "reference";
    case FirstFactorization::klu: return "klu";
  }
  return "?";
}

Result<FirstFactorization> parse_first_factorization(std::string_view text) {
  std::string known;
  for (const FirstFactorization first : firsts) {
    if (text == to_string(first)) return first;
    known += fmt::format(" {}", to_string(first));
  }
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("no first factorization '{}'; there are:{}", text, known));
}

const Rung& pivot_chooser(FirstFactorization first) {
  switch (first) {
    case FirstFactorization::rung: break;
    case FirstFactorization::reference: return sparse_leftlooking::reference;
    case FirstFactorization::klu: return sparse_leftlooking::klu;
  }
  return sparse_leftlooking::pruned;
}

template <class T>
Result<Analysis> choose_pivots(const Rung& chooser, const FactorOptions& options, const Analysis& analysis,
                               const CscView<double>& a) {
  return chooser.supports<T>() ? choose_pivots_in<T>(chooser, options, analysis, a)
                               : choose_pivots_in<double>(chooser, options, analysis, a);
}

template <class T>
Result<Analysis> choose_pivots_by_row(const Rung& chooser, const FactorOptions& options, const Analysis& analysis,
                                      const CscView<double>& a) {
  const CscMatrix<double> a_transposed = transpose(a);
  LULAB_ASSIGN_OR_RETURN(const auto of_transpose, analyze_with_plan(a_transposed, analysis.plan.transposed()));
  LULAB_ASSIGN_OR_RETURN(const auto chosen, choose_pivots<T>(chooser, options, of_transpose, a_transposed));
  return analyze_with_plan(a, chosen.plan.transposed());
}

#define LULAB_INSTANTIATE(T)                                                                            \
  template Result<Analysis> choose_pivots<T>(const Rung&, const FactorOptions&, const Analysis&,        \
                                             const CscView<double>&);                                   \
  template Result<Analysis> choose_pivots_by_row<T>(const Rung&, const FactorOptions&, const Analysis&, \
                                                    const CscView<double>&);
LULAB_FOR_EACH_SCALAR(LULAB_INSTANTIATE)
#undef LULAB_INSTANTIATE

}  // namespace lulab
