/**
 * Whether an id came before, among any number of ids and in memory that does not grow: a filter of fixed size, which
 * never forgets one and now and then takes a new one for an old. Those it is not sure of are few, and whoever asks
 * reads again to be sure.
 */

/** 2^27 bits are 16 MB: of a million ids about one is not sure, of ten million one in two hundred. */
const BITS = 27
const PLACES = 4
/** Beyond that, what lies in it is of no use any more. */
const MOST = 20_000_000

export class SeenIds {
  private words: Uint32Array | undefined
  private count = 0

  /** Begins with a stream whose ids share none with those before it; they may stay in the filter until it is full. */
  begin(): void {
    if (this.count < MOST) return
    this.words?.fill(0)
    this.count = 0
  }

  /** Notes a UUID that was made of a hash; true where it may have come before. */
  add(uuid: string): boolean {
    const words = (this.words ??= new Uint32Array(2 ** (BITS - 5)))
    this.count += 1
    let seen = true
    // Digits without those of version and variant, which every id shares. Two numbers of them make all places: the first
    // is where they begin, the second how far it is from each to the next.
    let bit = Number.parseInt(uuid.slice(0, 8), 16)
    const step = Number.parseInt(uuid.slice(28), 16) | 1
    for (let place = 0; place < PLACES; place += 1) {
      const word = (bit & (2 ** BITS - 1)) >>> 5
      const mask = 1 << (bit & 31)
      const there = words[word] ?? 0
      if ((there & mask) === 0) seen = false
      words[word] = there | mask
      bit += step
    }
    return seen
  }
}
