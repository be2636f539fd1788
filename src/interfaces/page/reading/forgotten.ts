/** What compactions forgot, for the page and report files: one row per compaction, and the worst ones in full. */
import { verdictsOf } from '../../../application/losses/totals.js'
import type { Forgotten, ForgottenCycle, ForgottenTotal, Ledger } from '../../../library/ledger.js'
import type { Pause } from './foreground.js'

/** A compaction as a row. */
export interface ForgottenRow
  extends
    Pick<ForgottenCycle, 'conversationId' | 'cycle' | 'revision' | 'recordedAt' | 'keys'>,
    Pick<ForgottenTotal, 'left' | 'losses' | 'verdicts' | 'behind'> {
  /** The known part of its summary. */
  readonly summary: ForgottenCycle['report']['summary']['kind']
  /** The compaction is also shown in full. */
  readonly isWhole: boolean
}

export interface ForgottenFound extends Forgotten {
  /** Every compaction, in reading order. */
  readonly rows: readonly ForgottenRow[]
  /** The compactions with the most repeated calls, then with the most losses; in reading order. */
  readonly whole: readonly ForgottenCycle[]
}

/** Maximum number of compactions shown in full. All others are only counted. */
const MAX_WHOLE = 60

const rowOf = ({ report, ...named }: ForgottenCycle): ForgottenRow => ({
  ...named,
  left: report.left,
  losses: report.losses,
  verdicts: verdictsOf(report.counts),
  behind: report.behind,
  summary: report.summary.kind,
  isWhole: false,
})

/** Sorts by repeated calls, then by losses that matter, then by all lost items. */
const worstFirst = (a: ForgottenRow, b: ForgottenRow): number => b.behind.calls - a.behind.calls || b.losses - a.losses

interface ForgottenOptions {
  /** Only the cycle with this number. */
  readonly cycle?: number | undefined
  /** How many are shown in full. */
  readonly max?: number
  /** Awaited after each compaction, for work in the background. */
  readonly pause?: Pause
}

/** Reads the losses of the compactions of a conversation, or of all conversations. */
export async function forgottenFound(
  ledger: Pick<Ledger, 'forgotten'>,
  conversationId: string | undefined,
  { cycle, max = MAX_WHOLE, pause }: ForgottenOptions = {},
): Promise<ForgottenFound> {
  const rows: ForgottenRow[] = []
  let whole: { readonly at: number; readonly row: ForgottenRow; readonly found: ForgottenCycle }[] = []
  const keepWorst = (): void => {
    whole = whole.toSorted((a, b) => worstFirst(a.row, b.row)).slice(0, max)
  }
  const { conversations, totals } = await ledger.forgotten(conversationId, {
    onCycle: async (found) => {
      const row = rowOf(found)
      whole.push({ at: rows.length, row, found })
      rows.push(row)
      if (whole.length >= 2 * max) keepWorst()
      await pause?.()
    },
    ...(cycle === undefined ? {} : { cycle }),
  })
  keepWorst()
  const sorted = whole.toSorted((a, b) => a.at - b.at)
  const places = new Set(sorted.map(({ at }) => at))
  return {
    conversations,
    totals,
    rows: rows.map((row, at) => ({ ...row, isWhole: places.has(at) })),
    whole: sorted.map(({ found }) => found),
  }
}

/** The report of the cycle that ended at a revision; undefined if the cycle is not in the conversation's own stream. */
export async function forgottenAt(
  ledger: Pick<Ledger, 'forgotten'>,
  conversationId: string,
  cycle: number,
  revision: number,
): Promise<ForgottenCycle | undefined> {
  let found: ForgottenCycle | undefined
  await ledger.forgotten(conversationId, {
    cycle,
    onCycle: (each) => {
      if (each.revision === revision) found = each
    },
  })
  return found
}
