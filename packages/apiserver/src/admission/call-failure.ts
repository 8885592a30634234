/** A webhook that could not be called, or whose answer is invalid. Its failurePolicy decides the result. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
}
