/**
 * Which conversations other processes are erasing. A process asks the store before it uses keys from its memory, and
 * forgets those that may have been removed.
 */
import { sleep } from '../../ports/clock.js'
import type { KeyringStore } from '../../ports/keyring-store.js'

/**
 * How long a process may use keys from its memory after it asked which conversations are being erased. An erasure is
 * noted before it removes keys, and stays noted for twice as long afterwards. So every other process learns of it and
 * forgets the keys before the erasure is complete; one that asks more rarely compares the versions of its keys.
 */
const MEMORY_MS = 250
/** More than a timer can be too early. */
const TIMER_MS = 50

/** What one process knows of the erasures of all. Times are of its monotonic clock. */
export class ErasureWatch {
  /** When this process last asked which conversations are being erased. */
  private askedAt = -Infinity
  /** Whether there are fingerprints of erased messages, when this process last asked. */
  private hasFingerprints = false
  /** The number of these questions that were answered. */
  asked = 0
  private asking: Promise<void> | undefined
  /** When this process last found that it had not asked for so long that it may have missed an erasure. */
  missedAt = -Infinity
  /** When this process last removed keys. */
  private removedAt = -Infinity

  constructor(
    private readonly store: KeyringStore,
    /** Forgets the keys of a conversation that is being erased. */
    private readonly forget: (conversationId: string) => void,
  ) {}

  /** Notes that this process is removing keys. */
  noteRemoval(): void {
    this.removedAt = performance.now()
  }

  /** Whether another process may have removed keys that are in the memory of this one. */
  get mayBeOutdated(): boolean {
    return this.store.sharing === 'writers' && performance.now() - this.askedAt > MEMORY_MS
  }

  /** Forgets the keys of conversations that are being erased. Concurrent callers share a question. */
  async forgetErased(): Promise<void> {
    const ask = async (): Promise<void> => {
      const startedAt = performance.now()
      const { conversationIds, hasFingerprints } = await this.store.erasures()
      for (const conversationId of conversationIds) this.forget(conversationId)
      // Some may have been added since then, by this process too.
      this.hasFingerprints ||= hasFingerprints
      const answeredAt = performance.now()
      if (answeredAt - this.askedAt > 2 * MEMORY_MS) this.missedAt = answeredAt
      this.askedAt = startedAt
      this.asked += 1
    }
    this.asking ??= ask().finally(() => {
      this.asking = undefined
    })
    await this.asking
  }

  /** Waits until every other process has forgotten the keys that this one removed. */
  async forgottenElsewhere(): Promise<void> {
    if (this.store.sharing === 'none') return
    const left = this.removedAt + 2 * MEMORY_MS + TIMER_MS - performance.now()
    if (left > 0) await sleep(left)
  }

  async addFingerprints(fingerprints: readonly string[]): Promise<void> {
    this.hasFingerprints ||= fingerprints.length > 0
    await this.store.addFingerprints(fingerprints)
  }

  /** Whether there are fingerprints. An erasure stores them before it removes keys, so this process learns of both. */
  async mayHaveFingerprints(): Promise<boolean> {
    if (this.askedAt === -Infinity || this.mayBeOutdated) await this.forgetErased()
    return this.hasFingerprints
  }
}
