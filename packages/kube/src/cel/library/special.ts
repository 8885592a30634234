import { func, method, type Overload } from '../typing/overload.ts';
import type { Value } from '../values.ts';

// Only the signatures are here. The planner implements these functions, because they evaluate some arguments lazily or inspect them.
const planned = (): Value => {
  throw new Error('this function has no implementation of its own');
};

export const special: readonly Overload[] = [
  func('_&&_', '(bool, bool) -> bool', 'logical_and', planned),
  func('_||_', '(bool, bool) -> bool', 'logical_or', planned),
  func('_?_:_', '(bool, A, A) -> A', 'conditional', planned),
  func('_[_]', '(list(A), int) -> A', 'index_list', planned),
  func('_[_]', '(map(A, B), A) -> B', 'index_map', planned),
  func('_[_]', '(optional(list(V)), int) -> optional(V)', 'optional_list_index_int', planned),
  func('_[_]', '(optional(map(K, V)), K) -> optional(V)', 'optional_map_index_value', planned),
  func('_[?_]', '(list(V), int) -> optional(V)', 'list_optindex_optional_int', planned),
  func('_[?_]', '(map(K, V), K) -> optional(V)', 'map_optindex_optional_value', planned),
  func('_[?_]', '(optional(list(V)), int) -> optional(V)', 'optional_list_optindex_optional_int', planned),
  func('_[?_]', '(optional(map(K, V)), K) -> optional(V)', 'optional_map_optindex_optional_value', planned),
  method('or', '(optional(V), optional(V)) -> optional(V)', 'optional_or_optional', planned),
  method('orValue', '(optional(V), V) -> V', 'optional_orValue_value', planned),
];
