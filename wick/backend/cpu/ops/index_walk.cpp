#include "wick/backend/cpu/ops/index_walk.h"

namespace wick::cpu {

IndexWalk::IndexWalk(const Layout& ids, const Layout& values, const Layout& indexed, int dim)
    : rank_(values.rank()),
      elements_(values.elements()),
      step_(indexed.stride(dim)),
      offsets_{ids.offset(), values.offset(), indexed.offset()} {
  for (int d = 0; d < rank_; ++d) {
    const auto at = static_cast<size_t>(d);
    extents_[at] = values.shape()[d];
    strides_[kIds][at] = ids.stride(d);
    strides_[kValues][at] = values.stride(d);
    strides_[kIndexed][at] = d == dim ? 0 : indexed.stride(d);
  }
  if (elements_ > 0) merge();
}

IndexWalk::IndexWalk(const Layout& first, const Layout& second)
    : rank_(first.rank()), elements_(first.elements()), offsets_{first.offset(), second.offset(), 0} {
  for (int d = 0; d < rank_; ++d) {
    const auto at = static_cast<size_t>(d);
    extents_[at] = first.shape()[d];
    strides_[0][at] = first.stride(d);
    strides_[1][at] = second.stride(d);
  }
  if (elements_ > 0) merge();
}

void IndexWalk::merge() {
  int kept = 0;
  for (int d = 0; d < rank_; ++d) {
    const auto from = static_cast<size_t>(d);
    if (extents_[from] == 1) continue;
    const auto above = static_cast<size_t>(kept - 1);
    bool one_run = kept > 0;
    for (const auto& strides : strides_) one_run = one_run && strides[above] == strides[from] * extents_[from];
    const auto to = one_run ? above : static_cast<size_t>(kept++);
    extents_[to] = one_run ? extents_[above] * extents_[from] : extents_[from];
    for (auto& strides : strides_) strides[to] = strides[from];
  }
  if (kept == 0) {
    extents_[0] = 1;
    for (auto& strides : strides_) strides[0] = 1;
    kept = 1;
  }
  rank_ = kept;
}

}  // namespace wick::cpu
