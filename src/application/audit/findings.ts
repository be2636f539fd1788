/** What a verification finds. Lists are limited; `ok` is exact. */
import type { Problem } from './stream-report.js'

/** The maximum number of problems that are listed. */
export const MOST_PROBLEMS = 10_000

export class Findings {
  readonly problems: Problem[] = []
  readonly observations: Problem[] = []
  /** Conversations that were recorded without redaction. */
  readonly redactionOff: string[] = []
  /** Conversations with problems in their events or in those of their editions. Their rows cannot be judged. */
  readonly distrusted = new Set<string>()

  report(found: readonly Problem[]): void {
    this.problems.push(...found.slice(0, Math.max(0, MOST_PROBLEMS - this.problems.length)))
  }

  observe(found: readonly Problem[]): void {
    this.observations.push(...found.slice(0, Math.max(0, MOST_PROBLEMS - this.observations.length)))
  }

  noteRedactionOff(conversationId: string): void {
    if (this.redactionOff.length < MOST_PROBLEMS) this.redactionOff.push(conversationId)
  }
}
