/** What compactions forgot, as the page and its files show it: all of them in a line, and the foremost whole. */
import type { Forgotten, ForgottenCycle, ForgottenTotal, Ledger } from '../../library/ledger.js'

/** A compaction in a line. */
export interface ForgottenRow
  extends
    Pick<ForgottenCycle, 'conversationId' | 'cycle' | 'revision' | 'recordedAt' | 'keys'>,
    Pick<ForgottenTotal, 'left' | 'verdicts' | 'behind'> {
  /** It is among those that are shown whole. */
  readonly isWhole: boolean
}

/** What compactions forgot. */
export interface ForgottenFound extends Forgotten {
  /** Every compaction, in the order in which they were read. */
  readonly rows: readonly ForgottenRow[]
  /** Those behind which most was done again, then those of which most is gone; in the same order. */
  readonly whole: readonly ForgottenCycle[]
}

/** Compactions that are shown whole: what others said is counted, and only these are held. */
const MOST_WHOLE = 60

const verdictsOf = ({ counts }: ForgottenCycle['report']): ForgottenRow['verdicts'] => {
  const all = Object.values(counts)
  const sum = (verdict: keyof ForgottenRow['verdicts']): number => all.reduce((total, each) => total + each[verdict], 0)
  return { kept: sum('kept'), blurred: sum('blurred'), gone: sum('gone'), unknown: sum('unknown') }
}

const rowOf = ({ report, ...named }: ForgottenCycle): ForgottenRow => ({
  ...named,
  left: report.left,
  verdicts: verdictsOf(report),
  behind: report.behind,
  isWhole: false,
})

/** Cost first, since it is what somebody paid; then what is gone. */
const worstFirst = (a: ForgottenRow, b: ForgottenRow): number =>
  b.behind.calls - a.behind.calls || b.verdicts.gone - a.verdicts.gone

/**
 * What the compactions of a conversation, or of all, forgot.
 * @param cycle only those with this number
 * @param most how many are shown whole
 */
export async function forgottenFound(
  ledger: Pick<Ledger, 'forgotten'>,
  conversationId: string | undefined,
  cycle?: number,
  most = MOST_WHOLE,
): Promise<ForgottenFound> {
  const rows: ForgottenRow[] = []
  let whole: { readonly at: number; readonly row: ForgottenRow; readonly found: ForgottenCycle }[] = []
  const keepWorst = (): void => {
    whole = whole.toSorted((a, b) => worstFirst(a.row, b.row)).slice(0, most)
  }
  const { conversations, totals } = await ledger.forgotten(conversationId, {
    onCycle: (found) => {
      const row = rowOf(found)
      whole.push({ at: rows.length, row, found })
      rows.push(row)
      if (whole.length >= 2 * most) keepWorst()
    },
    ...(cycle === undefined ? {} : { cycle }),
  })
  keepWorst()
  const shown = whole.toSorted((a, b) => a.at - b.at)
  const places = new Set(shown.map(({ at }) => at))
  return {
    conversations,
    totals,
    rows: rows.map((row, at) => ({ ...row, isWhole: places.has(at) })),
    whole: shown.map(({ found }) => found),
  }
}

/** The report of the cycle that ended at a revision; undefined where it is none of the conversation's own stream. */
export async function forgottenAt(
  ledger: Pick<Ledger, 'forgotten'>,
  conversationId: string,
  cycle: number,
  revision: bigint,
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
