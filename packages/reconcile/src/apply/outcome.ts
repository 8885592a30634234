/** A write that was not made because it would have taken what is somebody else's. Only a change of the object helps. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict';
}
