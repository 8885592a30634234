/** A webhook that could not be asked, or whose answer is none; its failurePolicy decides what that means. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
}
