/** The problems and observations of one stream. The lists are limited. */
import type { Finding, Rule } from './event-laws.js'

/** A problem that `verify` found. */
export interface Problem {
  /** The stream, or the name of a read model if the problem (`rows`) concerns it as a whole. */
  readonly stream: string
  /** Undefined if the stream does not belong to a conversation. */
  readonly conversationId: string | undefined
  /** Revision of the event, or -1 if the problem concerns the whole stream. */
  readonly revision: number
  /** The broken rule. */
  readonly rule: Rule
  /** The problem, as a sentence. */
  readonly detail: string
}

/** The maximum number of problems listed for one stream. */
const MOST_PROBLEMS = 100

export class StreamReport {
  readonly problems: Problem[] = []
  /** Deviations of another program from our rules, according to its transcript. */
  readonly observations: Problem[] = []

  constructor(
    readonly stream: string,
    private readonly conversationId: string | undefined,
  ) {}

  add(rule: Rule, detail: string, revision: number): void {
    if (this.problems.length === MOST_PROBLEMS) return
    const isLast = this.problems.length === MOST_PROBLEMS - 1
    const shownDetail = isLast ? `${detail}; further problems of this stream are not listed` : detail
    this.problems.push({
      stream: this.stream,
      conversationId: this.conversationId,
      revision,
      rule,
      detail: shownDetail,
    })
  }

  addFindings(findings: readonly Finding[], revision: number): void {
    for (const { rule, detail, isObservation } of findings) {
      if (isObservation !== true) this.add(rule, detail, revision)
      else if (this.observations.length < MOST_PROBLEMS)
        this.observations.push({ stream: this.stream, conversationId: this.conversationId, revision, rule, detail })
    }
  }
}
