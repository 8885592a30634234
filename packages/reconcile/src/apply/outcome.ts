/** A write that was not made because it would have taken fields or objects of another owner. Only a change of the object helps. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict';
}

/** A write that was not sent because the lease was lost while it was being prepared. The next holder sends it. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}
