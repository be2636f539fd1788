/**
 * Detects duplicate ids among any number, in constant memory: a Bloom filter, which never misses a duplicate and
 * sometimes reports a new id as one. Such reports are few, and the caller reads the log again to be sure.
 */

/** 2^27 bits are 16 MB. About one of a million ids is reported wrongly, and one in two hundred of ten million. */
const BITS = 27
const BITS_PER_ID = 4
/** Above this number of ids the filter has no use. */
const MAX_IDS = 20_000_000

export class IdFilter {
  private words: Uint32Array | undefined
  private count = 0

  /** Begins a stream whose ids cannot equal earlier ones; those may stay in the filter until it is full. */
  begin(): void {
    if (this.count < MAX_IDS) return
    this.words?.fill(0)
    this.count = 0
  }

  /** Adds a UUID made from a hash; true if it may be a duplicate. */
  add(uuid: string): boolean {
    const words = (this.words ??= new Uint32Array(2 ** (BITS - 5)))
    this.count += 1
    let wasSet = true
    // Uses the digits outside of version and variant, which are the same in every id. Double hashing: the first number
    // is the first bit, the second is the step to the next.
    let bit = Number.parseInt(uuid.slice(0, 8), 16)
    const step = Number.parseInt(uuid.slice(28), 16) | 1
    for (let round = 0; round < BITS_PER_ID; round += 1) {
      const word = (bit & (2 ** BITS - 1)) >>> 5
      const mask = 1 << (bit & 31)
      const bits = words[word] ?? 0
      if ((bits & mask) === 0) wasSet = false
      words[word] = bits | mask
      bit += step
    }
    return wasSet
  }
}
