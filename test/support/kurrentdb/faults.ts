/** Server faults that a test can request: calls that get no answer, and appends whose answer is wrong. */
import { changes, latch } from '../latch.js'

/** What becomes of one append that is not to go well. */
interface AppendFault {
  readonly stored: boolean
  readonly answer: 'deadline' | 'unavailable' | 'none'
  /** The server dies once this append has been dealt with. */
  readonly last?: true
}

export interface Faults {
  readonly isHanging: boolean
  isReady: boolean
  /** Whether a call is refused because the server is not ready. */
  refuses(): boolean
  /** Resolves when the next one is. */
  refused(): Promise<void>
  hang(): void
  resume(): void
  /** Resolves at once, or when a hanging server goes on. */
  passage(): Promise<void>
  plan(faults: readonly AppendFault[]): void
  nextForAppend(): AppendFault | undefined
  /** As a new process is: it answers, and nothing is planned for it. */
  clear(): void
}

/** Begins with nothing wrong. */
export function createFaults(): Faults {
  const open = Promise.resolve()
  const refusal = changes()
  let hanging: ReturnType<typeof latch> | undefined
  let planned: AppendFault[] = []
  const resume = (): void => {
    hanging?.open()
    hanging = undefined
  }
  return {
    get isHanging() {
      return hanging !== undefined
    },
    isReady: true,
    refuses() {
      if (!this.isReady) refusal.happened()
      return !this.isReady
    },
    refused: () => refusal.next(),
    hang() {
      hanging ??= latch()
    },
    resume,
    passage: () => hanging?.opened ?? open,
    plan(faults) {
      planned = [...planned, ...faults]
    },
    nextForAppend: () => planned.shift(),
    clear() {
      this.isReady = true
      planned = []
      resume()
    },
  }
}
