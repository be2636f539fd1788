/**
 * What became of what a cycle took out of the context: kept, blurred or gone. The page shows such a list, whoever made
 * it; here it is made of the loss report.
 */
import type { Conversation } from '../../domain/conversation/conversation.js'
import { createLossReport, sideOf, type KindReport } from '../../domain/reports/loss-report.js'
import { liveIn } from '../../history/time-travel.js'

/**
 * Kept: the context still says it. Blurred: a summary in force has it, and the context does not show it. Gone: neither,
 * so that only the log has it.
 */
export type FateName = 'kept' | 'blurred' | 'gone' | 'unknown'

/** One thing that messages said, and what became of it. */
export interface Fate {
  /** What it is: a constraint, a file, a number. */
  readonly kind: string
  readonly text: string
  /** The first message that said it. */
  readonly messageId: string
  readonly fate: FateName
  /** The line of the summary, or of a message that stayed, which has it. */
  readonly proof?: string | undefined
}

/** How many of a kind are kept, blurred and gone. */
interface FateCounts {
  readonly kind: string
  readonly kept: number
  readonly blurred: number
  readonly gone: number
  /** Of which code cannot tell. */
  readonly unknown?: number
}

/** What became of all that a cycle took out. `items` names the foremost; `counts` has all of them. */
export interface Fates {
  readonly counts: readonly FateCounts[]
  readonly items: readonly Fate[]
}

/** The report of two states as fates; what is kept is counted there, and not named. */
function fatesOf(report: readonly KindReport[]): Fates {
  return {
    counts: report.map(({ kind, edition, lost, total, against }) => {
      const gone = lost.kept.count
      const known = Math.max(against.kept, against.shown)
      return { kind, kept: edition.shown, blurred: Math.max(0, Math.min(known, total) - gone - edition.shown), gone }
    }),
    items: report.flatMap(({ kind, lost }) => {
      const goneIds = new Set(lost.kept.items.map(({ text }) => text))
      return [
        ...lost.kept.items.map(({ text, messageId }): Fate => ({ kind, text, messageId, fate: 'gone' })),
        ...lost.shown.items
          .filter(({ text }) => !goneIds.has(text))
          .map(({ text, messageId }): Fate => ({ kind, text, messageId, fate: 'blurred' })),
      ]
    }),
  }
}

/** What became of the messages that were live before and are not live behind it. */
export function fatesBetween(before: Conversation, after: Conversation): Fates {
  const left = new Set(liveIn(after).messages.map(({ messageId }) => messageId))
  const gone = liveIn(before).messages.filter(({ messageId }) => !left.has(messageId))
  const report = createLossReport(
    sideOf(before),
    sideOf(after),
    new Set(gone.flatMap(({ messageId, pinned }) => (pinned ? [messageId] : []))),
  )
  for (const message of gone) report.add(message)
  return fatesOf(report.result())
}
