/** The `forgotten` report as a single HTML file: for a conversation, a cycle, or the whole ledger. */
import type { Ledger } from '../../library/ledger.js'
import { titlesOf } from '../../library/titles.js'
import { documentOf } from './document.js'
import { forgottenFound, type ForgottenFound } from './reading/forgotten.js'
import { createHistories } from './reading/history.js'
import { turnsOf } from './reading/turns.js'
import { ForgottenView } from './views/forgotten.js'
import { count, cut, Name, Time } from './views/text.js'

export interface ForgottenReportOptions {
  readonly ledger: Pick<Ledger, 'forgotten' | 'list' | 'log'>
  /** Default: all conversations. */
  readonly conversationId: string | undefined
  /** Only the cycle with this number. */
  readonly cycle?: number | undefined
  /** Time of writing. */
  readonly now: Date
}

/** The data of the report, and the text of the file. */
export async function forgottenReportOf({
  ledger,
  conversationId,
  cycle,
  now,
}: ForgottenReportOptions): Promise<{ readonly found: ForgottenFound; readonly text: string }> {
  const found = await forgottenFound(ledger, conversationId, { cycle })
  const titles = await titlesOf(
    ledger,
    conversationId === undefined ? found.rows.map((row) => row.conversationId) : [conversationId],
  )
  const turnOf = await turnsOf(
    createHistories(ledger),
    found.whole.map((each) => each.conversationId),
  )
  const title = conversationId === undefined ? 'all conversations' : (titles.get(conversationId) ?? conversationId)
  const text = await documentOf(
    `What compactions forgot: ${cut(title, 80)}`,
    <>
      <h1>
        What compactions forgot: <Name text={title} most={600} />
      </h1>
      <p class="muted">
        {conversationId === undefined ? null : (
          <>
            <Name text={conversationId} most={600} />.{' '}
          </>
        )}
        {cycle === undefined ? null : <>Only cycle {count(cycle)}. </>}
        Written <Time at={now.toISOString()} /> UTC.
      </p>
      <ForgottenView
        found={found}
        names={conversationId === undefined ? titles : undefined}
        places={{ linked: false, turnOf }}
      />
    </>,
  )
  return { found, text }
}
