/** What compactions forgot as a single file: of one conversation, of one of its cycles, or of a whole ledger. */
import type { Ledger } from '../library/ledger.js'
import { documentOf } from './document.js'
import { forgottenFound, type ForgottenFound } from './reading/forgotten.js'
import { ForgottenView } from './views/forgotten.js'
import { count, cut, Name, Time } from './views/text.js'

/** What the report is made of. */
export interface ForgottenReportOptions {
  readonly ledger: Pick<Ledger, 'forgotten'>
  /** All conversations where it is left out. */
  readonly conversationId: string | undefined
  /** Only the cycle with this number. */
  readonly cycle?: number | undefined
  /** When it is written. */
  readonly now: Date
}

/** The report: what was found, and the text of a file that shows it. */
export async function forgottenReportOf({
  ledger,
  conversationId,
  cycle,
  now,
}: ForgottenReportOptions): Promise<{ readonly found: ForgottenFound; readonly text: string }> {
  const found = await forgottenFound(ledger, conversationId, cycle)
  const named = conversationId === undefined ? 'all conversations' : cut(conversationId, 80)
  const text = await documentOf(
    `What was forgotten: ${named}`,
    <>
      <h1>
        What compactions forgot:{' '}
        {conversationId === undefined ? 'all conversations' : <Name text={conversationId} most={600} />}
      </h1>
      <p class="muted">
        {cycle === undefined ? null : <>Cycle {count(cycle)} alone. </>}
        Written <Time at={now.toISOString()} /> UTC.
      </p>
      <ForgottenView found={found} withNames={conversationId === undefined} linked={false} />
    </>,
  )
  return { found, text }
}
