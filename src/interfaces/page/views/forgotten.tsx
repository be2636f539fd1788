/** The losses of compactions: as sentences first, then figures and every compaction, folded. */
import type { Child } from 'hono/jsx'
import { VERDICTS, VERDICT_NAMES } from '../../../application/loss-report/judged-item.js'
import type { ForgottenTotal, ForgottenTotals } from '../../../library/ledger.js'
import type { Titles } from '../../../library/titles.js'
import { link } from '../links.js'
import type { ForgottenFound, ForgottenRow } from '../reading/forgotten.js'
import { byText, costText, ForgottenCycleView, VerdictTable } from './forgotten-cycle.js'
import { Headlines } from './forgotten-headlines.js'
import type { Places } from './places.js'
import { figure, Table } from './table.js'
import { count, cut, many, Name, visible, Time } from './text.js'

/** The anchor of a compaction shown in full. */
const anchorOf = (index: number): string => `compaction-${String(index)}`

function CycleName({ row, names }: { row: ForgottenRow; names: Titles | undefined }): Child {
  return (
    <>
      {names === undefined ? null : (
        <>
          <Name text={names.get(row.conversationId) ?? row.conversationId} most={60} />{' '}
        </>
      )}
      compaction {count(row.cycle)}
    </>
  )
}

const FIGURES = [
  'tokens removed',
  'losses',
  ...VERDICTS.map((verdict) => VERDICT_NAMES[verdict]),
  'repeated calls',
  'tokens',
].map((name) => figure(name))
const figuresOf = ({
  left,
  losses,
  verdicts,
  behind,
}: Pick<ForgottenRow, 'left' | 'losses' | 'verdicts' | 'behind'>): string[] => [
  count(left.tokens),
  count(losses),
  ...VERDICTS.map((verdict) => count(verdicts[verdict])),
  count(behind.calls),
  count(behind.tokens),
]

/** Totals by program, version, trigger and strategy. */
export function TotalTable({ totals: { all, by } }: { totals: ForgottenTotals }): Child {
  const rowOf = (key: string, name: string, total: ForgottenTotal): Child[] => [
    <>
      <span class="muted">{key}</span> {visible(cut(name, 80))}
    </>,
    count(total.compactions),
    ...figuresOf(total),
    `${count(total.compared.before.calls)} → ${count(total.compared.behind.calls)}`,
  ]
  return (
    <Table
      label="Totals"
      tight
      columns={['By', figure('compactions'), ...FIGURES, figure('repeated, before → after')]}
      rows={[
        ...Object.entries(by).flatMap(([key, values]) =>
          Object.entries(values)
            .filter(([value]) => value !== 'unknown')
            .map(([value, total]) => rowOf(key, value, total)),
        ),
        rowOf('', 'all', all),
      ]}
    />
  )
}

/** Totals of all compactions in one line. */
function Summary({
  found: { rows, conversations, totals },
  names,
}: {
  found: ForgottenFound
  names: Titles | undefined
}): Child {
  const { left, losses, behind } = totals.all
  return (
    <p class="figures">
      <span>
        <b>{count(rows.length)}</b> {rows.length === 1 ? 'compaction' : 'compactions'}
        {names !== undefined ? ` of ${many(conversations, 'conversation')}` : ''}
      </span>
      <span>
        <b>{count(left.messages)}</b> messages and <b>{count(left.tokens)}</b> tokens removed
      </span>
      <span>
        <b>{count(losses)}</b> {losses === 1 ? 'loss' : 'losses'}
      </span>
      {behind.calls === 0 ? null : (
        <span>
          repeated: <b>{costText(behind)}</b>
        </span>
      )}
    </p>
  )
}

/** Tables of all compactions. */
function Figures({ found, names }: { found: ForgottenFound; names: Titles | undefined }): Child {
  const { rows, totals } = found
  const { compared, counts } = totals.all
  return (
    <details class="fold">
      <summary>All figures</summary>
      <p class="muted">
        Determined by code, without a model. Each verdict has a proof: a line of the summary or a message. If code
        cannot decide, the item may be lost.
      </p>
      <VerdictTable label="Counts of all removed content" counts={counts} />
      <h3>Totals</h3>
      <TotalTable totals={totals} />
      <p>
        {compared.messages === 0
          ? 'No messages follow a compaction yet, so repeated calls cannot be measured.'
          : `For comparison with ordinary repetition: within ${many(compared.messages, 'message')} before the compactions ${costText(compared.before)}, after them ${costText(compared.behind)}.`}
      </p>
      <h3>Each compaction</h3>
      <Table
        label="Each compaction"
        tight
        columns={['Compaction', 'By', { name: 'Recorded (UTC)', is: 'time' }, ...FIGURES]}
        rows={rows.map((row, index) => [
          row.isWhole ? (
            <a href={`#${anchorOf(index)}`}>
              <CycleName row={row} names={names} />
            </a>
          ) : (
            <CycleName row={row} names={names} />
          ),
          visible(byText(row.keys)),
          <Time at={row.recordedAt} />,
          ...figuresOf(row),
        ])}
      />
    </details>
  )
}

/** The compactions in full, each folded. */
function Compactions({
  found,
  names,
  places,
}: {
  found: ForgottenFound
  names: Titles | undefined
  places: Places
}): Child {
  const { rows, whole } = found
  const fullIndexes = rows.flatMap(({ isWhole }, index) => (isWhole ? [index] : []))
  return (
    <>
      {whole.map((each, at) => {
        const index = fullIndexes[at] ?? 0
        const row = rows[index]
        return row === undefined ? null : (
          <section class="compaction" id={anchorOf(index)}>
            <details class="fold">
              <summary>
                After <CycleName row={row} names={names} />{' '}
                <span class="facts">
                  {many(row.left.messages, 'message')} removed, {many(row.losses, 'loss', 'losses')},{' '}
                  {many(row.behind.calls, 'call')} repeated
                </span>
              </summary>
              {places.linked ? (
                <p>
                  <a href={link('/difference', { c: each.conversationId, cycle: each.cycle })}>What changed</a>
                </p>
              ) : null}
              <ForgottenCycleView found={each} places={places} />
            </details>
          </section>
        )
      })}
      {whole.length === rows.length ? null : (
        <p class="note">
          Shown in full: the {count(whole.length)} compactions with the most repeated calls or losses. For any other,
          run <code>context-ledger forgotten CONVERSATION --cycle N</code>.
        </p>
      )}
    </>
  )
}

/** The losses of all compactions as sentences, then the figures and each compaction. */
export function ForgottenView({
  found,
  names,
  places,
}: {
  found: ForgottenFound
  /** Titles, if the compactions belong to several conversations. */
  names: Titles | undefined
  places: Places
}): Child {
  if (found.rows.length === 0) return <p class="empty">Nothing has been compacted, so nothing was forgotten.</p>
  return (
    <>
      <Summary found={found} names={names} />
      <Headlines cycles={found.whole} verdicts={found.totals.all.verdicts} names={names} places={places} />
      <Compactions found={found} names={names} places={places} />
      <Figures found={found} names={names} />
    </>
  )
}
