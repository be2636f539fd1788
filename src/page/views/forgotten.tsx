/**
 * What a compaction forgot: what left, what the summary still has of it with its proof, and what was done again behind
 * it beside the same measure before it. The page and the files that are sent to somebody show the same.
 */
import type { Child } from 'hono/jsx'
import { duration } from '../../domain/text/count.js'
import { ITEM_KINDS, ITEM_NAMES, type ItemKind } from '../../domain/reports/forgotten/items.js'
import type { ForgottenCycle, ForgottenTotal, ForgottenTotals, JudgedItem } from '../../library/ledger.js'
import { conversationLink, link } from '../links.js'
import type { ForgottenFound, ForgottenRow } from '../reading/forgotten.js'
import { figure, Table } from './table.js'
import { count, cut, many, Name, plain, seen, Time } from './text.js'

type Report = ForgottenCycle['report']
type Pair = Report['doneAgain'][number]
type Repeated = Report['behind']
type Verdict = JudgedItem['verdict']

/** What stands foremost comes first. */
const VERDICTS = ['gone', 'blurred', 'kept', 'unknown'] as const
const SAYS: Readonly<Record<Verdict, string>> = {
  gone: 'nothing in the context says it any more',
  blurred: 'some of it is left',
  kept: 'the summary says it, or a message that stayed',
  unknown: 'code cannot tell',
}
const WHY_UNJUDGED: Readonly<Record<NonNullable<JudgedItem['why']>, string>> = {
  opaque: 'only its provider reads the summary',
  short: 'too few words to look for',
  script: 'the summary is in another script',
  unsure: 'some of its words are there, and may be about something else',
}
const WHY_UNKNOWN: Readonly<Record<NonNullable<Pair['why']>, string>> = {
  otherAnswer: 'the answer is another one',
  changedBetween: 'something was changed in between',
  noAnswer: 'the answer is not recorded',
  failed: 'both failed',
}

/** Items of a kind and a verdict that are named; the others are counted. */
const MOST_NAMED = 40
const MOST_CHARACTERS = 240

/** Where something leads: to nothing, in a file that is sent to somebody. */
interface Linked {
  readonly linked: boolean
}

/** A revision of a conversation, and the message that is recorded there. */
function Place({ c, revision, messageId, linked }: Linked & { c: string; revision: string; messageId: string }): Child {
  const words = <>revision {count(BigInt(revision))}</>
  return linked ? (
    <a class="facts" href={conversationLink({ c, at: revision, m: messageId })}>
      {words}
    </a>
  ) : (
    <span class="facts">{words}</span>
  )
}

const costText = ({ calls, tokens, milliseconds }: Pick<Repeated, 'calls' | 'tokens' | 'milliseconds'>): string =>
  `${many(calls, 'call')}, ${many(tokens, 'token')}${milliseconds < 1_000 ? '' : `, ${duration(milliseconds / 1_000)}`}`

/** What a part is called for those who hear it: of many compactions each has its own name. */
const labelOf = (part: string, { conversationId, cycle, revision }: ForgottenCycle): string =>
  `${part}: cycle ${count(cycle)} at revision ${count(revision)} of ${plain(cut(conversationId, 80))}`

/** How many of each kind are kept, blurred, gone and unknown. */
function VerdictTable({ label, counts }: { label: string; counts: ForgottenTotal['counts'] }): Child {
  const some = ITEM_KINDS.filter((kind) => VERDICTS.some((verdict) => counts[kind][verdict] > 0))
  if (some.length === 0) return <p class="empty">Nothing that left asks, binds, decides or names anything.</p>
  return (
    <Table
      label={label}
      columns={['Of what left', ...VERDICTS.map((verdict) => figure(verdict))]}
      rows={some.map((kind) => [ITEM_NAMES[kind], ...VERDICTS.map((verdict) => count(counts[kind][verdict]))])}
    />
  )
}

function ProofOf({ c, item, linked }: Linked & { c: string; item: JudgedItem }): Child {
  const { proof, why } = item
  if (proof === undefined) return why === undefined ? null : <div class="facts">{WHY_UNJUDGED[why]}</div>
  return (
    <div class="facts">
      {proof.kind === 'summary' ? (
        `summary line ${count(proof.line)}`
      ) : (
        <>
          still there, <Place c={c} revision={proof.revision} messageId={proof.messageId} linked={linked} />
        </>
      )}
      : <q>{seen(cut(proof.text, MOST_CHARACTERS))}</q>
    </div>
  )
}

function ItemLine({ c, item, linked }: Linked & { c: string; item: JudgedItem }): Child {
  const { text, said, mentions, resolvedBy } = item
  return (
    <li>
      {seen(cut(text, MOST_CHARACTERS))}{' '}
      <Place c={c} revision={said.revision} messageId={said.messageId} linked={linked} />
      {mentions > 1 ? <span class="facts"> in {many(mentions, 'message')}</span> : null}
      {resolvedBy === undefined ? null : (
        <div class="facts">
          resolved at <Place c={c} revision={resolvedBy.revision} messageId={resolvedBy.messageId} linked={linked} />:{' '}
          {seen(cut(resolvedBy.text, MOST_CHARACTERS))}
        </div>
      )}
      <ProofOf c={c} item={item} linked={linked} />
    </li>
  )
}

function KindList({
  c,
  kind,
  items,
  linked,
}: Linked & { c: string; kind: ItemKind; items: readonly JudgedItem[] }): Child {
  const these = items.filter((item) => item.kind === kind)
  if (these.length === 0) return null
  return (
    <>
      <p class="kind">{ITEM_NAMES[kind]}</p>
      <ul>
        {these.slice(0, MOST_NAMED).map((item) => (
          <ItemLine c={c} item={item} linked={linked} />
        ))}
        {these.length > MOST_NAMED ? (
          <li class="muted">
            {count(these.length - MOST_NAMED)} more, which <code>context-ledger forgotten --json</code> names
          </li>
        ) : null}
      </ul>
    </>
  )
}

/** What the summary still has of what left: figures, and each item with its proof. */
function Judged({ found, linked }: Linked & { found: ForgottenCycle }): Child {
  const { conversationId: c, report } = found
  return (
    <section class="fates" aria-label={labelOf('Kept, blurred or gone', found)}>
      <h3>Kept, blurred or gone</h3>
      <VerdictTable label={labelOf('Figures of what left', found)} counts={report.counts} />
      {VERDICTS.map((verdict) => {
        const these = report.items.filter((item) => item.verdict === verdict)
        return these.length === 0 ? null : (
          <details open={verdict === 'gone'} class={`fate ${verdict}`}>
            <summary>
              <b>
                {verdict} ({count(these.length)})
              </b>{' '}
              <span class="muted">{SAYS[verdict]}</span>
            </summary>
            {ITEM_KINDS.map((kind) => (
              <KindList c={c} kind={kind} items={these} linked={linked} />
            ))}
          </details>
        )
      })}
    </section>
  )
}

function PairLine({ c, pair, linked }: Linked & { c: string; pair: Pair }): Child {
  const { tool, use, subject, first, again, cost, why } = pair
  return (
    <li>
      <span class="kind">{seen(tool === '' ? use : tool)}</span> {seen(cut(subject, MOST_CHARACTERS))}{' '}
      <span class="facts">{costText(cost)}</span>
      <div class="facts">
        <Place c={c} revision={first.revision} messageId={first.messageId} linked={linked} />:{' '}
        <q>{seen(cut(first.text, MOST_CHARACTERS))}</q>
      </div>
      <div class="facts">
        again at <Place c={c} revision={again.revision} messageId={again.messageId} linked={linked} />:{' '}
        <q>{seen(cut(again.text, MOST_CHARACTERS))}</q>
      </div>
      {why === undefined ? null : <div class="facts">{WHY_UNKNOWN[why]}</div>}
    </li>
  )
}

const MOST_PAIRS = 200

function Pairs({ c, pairs, linked }: Linked & { c: string; pairs: readonly Pair[] }): Child {
  if (pairs.length === 0) return null
  return (
    <ul>
      {pairs.slice(0, MOST_PAIRS).map((pair) => (
        <PairLine c={c} pair={pair} linked={linked} />
      ))}
      {pairs.length > MOST_PAIRS ? (
        <li class="muted">
          {count(pairs.length - MOST_PAIRS)} more, which <code>context-ledger forgotten --json</code> names
        </li>
      ) : null}
    </ul>
  )
}

/** The same measure over two stretches of equal length. */
const comparedText = ({ messages, behind, before }: Report['compared']): string =>
  messages === 0
    ? 'Nothing was said behind it, so there is nothing to measure.'
    : `The same measure over ${many(messages, 'message')} each: ${costText(behind)} behind it, ${costText(before)} before it.`

/** What it cost: each call that was done again, beside the same measure before the compaction. */
function WhatItCost({ found, linked }: Linked & { found: ForgottenCycle }): Child {
  const { conversationId: c, report } = found
  const again = report.doneAgain.filter(({ verdict }) => verdict === 'doneAgain')
  const unknown = report.doneAgain.filter(({ verdict }) => verdict === 'unknown')
  return (
    <section class="fates" aria-label={labelOf('What it cost', found)}>
      <h3>What it cost</h3>
      <p>
        Done again behind it, though the messages that left had the answer: <b>{costText(report.behind)}</b>.
      </p>
      <p>{comparedText(report.compared)}</p>
      <Pairs c={c} pairs={again} linked={linked} />
      {unknown.length === 0 ? null : (
        <details>
          <summary>
            Of {many(unknown.length, 'more call')} it is not known <span class="muted">and they are in no sum</span>
          </summary>
          <Pairs c={c} pairs={unknown} linked={linked} />
        </details>
      )}
    </section>
  )
}

/** What the summary still has, and what it cost: of the page's view of a cycle, which shows itself what left. */
export function ForgottenParts({ found, linked }: Linked & { found: ForgottenCycle }): Child {
  return (
    <>
      <Judged found={found} linked={linked} />
      <WhatItCost found={found} linked={linked} />
    </>
  )
}

const byText = (keys: ForgottenCycle['keys']): string =>
  [keys.version ?? keys.program, keys.trigger, keys.strategy].filter((each) => each !== undefined).join(', ')

const summaryText = ({ kind, lines }: Report['summary']): string =>
  kind === 'text'
    ? many(lines, 'line')
    : kind === 'opaque'
      ? 'only its provider reads it, so what it has is unknown'
      : 'none'

/** What left: by role, and results by the tool that was called. */
function LeftTable({ label, left }: { label: string; left: Report['left'] }): Child {
  const rowsOf = (all: Report['left']['byRole'], of: string): Child[][] =>
    Object.entries(all)
      .toSorted(([, a], [, b]) => b.tokens - a.tokens)
      .map(([name, { messages, tokens }]) => [
        <>
          <span class="muted">{of}</span> {seen(cut(name, 80))}
        </>,
        count(messages),
        count(tokens),
      ])
  return (
    <Table
      label={label}
      columns={['What left', figure('Messages'), figure('Tokens')]}
      rows={[...rowsOf(left.byRole, 'role'), ...rowsOf(left.byTool, 'results of')]}
    />
  )
}

/** One compaction whole. */
export function ForgottenCycleView({ found, linked }: Linked & { found: ForgottenCycle }): Child {
  const { report } = found
  return (
    <>
      <dl class="made">
        <dt>by</dt>
        <dd>{seen(byText(found.keys))}</dd>
        <dt>left</dt>
        <dd>
          {many(report.left.messages, 'message')}, {many(report.left.tokens, 'token')}
        </dd>
        <dt>summary</dt>
        <dd>{summaryText(report.summary)}</dd>
      </dl>
      <LeftTable label={labelOf('What left, by role and tool', found)} left={report.left} />
      <ForgottenParts found={found} linked={linked} />
    </>
  )
}

/** The address within a page of a compaction that is shown whole. */
const anchorOf = (place: number): string => `compaction-${String(place)}`

function CycleName({ row, withName }: { row: ForgottenRow; withName: boolean }): Child {
  return (
    <>
      {withName ? (
        <>
          <Name text={row.conversationId} most={60} />{' '}
        </>
      ) : null}
      cycle {count(row.cycle)} at revision {count(row.revision)}
    </>
  )
}

const FIGURES = ['tokens left', ...VERDICTS, 'done again', 'tokens of it'].map((name) => figure(name))
const figuresOf = ({ left, verdicts, behind }: Pick<ForgottenRow, 'left' | 'verdicts' | 'behind'>): string[] => [
  count(left.tokens),
  ...VERDICTS.map((verdict) => count(verdicts[verdict])),
  count(behind.calls),
  count(behind.tokens),
]

/** Totals by program, version, trigger and strategy. */
export function TotalTable({ totals: { all, by } }: { totals: ForgottenTotals }): Child {
  const rowOf = (key: string, name: string, total: ForgottenTotal): Child[] => [
    <>
      <span class="muted">{key}</span> {seen(cut(name, 80))}
    </>,
    count(total.compactions),
    ...figuresOf(total),
    `${count(total.compared.before.calls)} → ${count(total.compared.behind.calls)}`,
  ]
  return (
    <Table
      label="Totals"
      tight
      columns={['By', figure('compactions'), ...FIGURES, figure('same stretch, before → behind')]}
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

/** All compactions: totals, each in a line, and those that cost or lost most whole. */
export function ForgottenView({
  found,
  withNames,
  linked,
}: Linked & {
  found: ForgottenFound
  /** Compactions of several conversations stand side by side. */
  withNames: boolean
}): Child {
  const { rows, whole, totals } = found
  if (rows.length === 0)
    return <p class="empty">Nothing was compacted so far: there is nothing that could be forgotten.</p>
  const { compared } = totals.all
  const wholePlaces = rows.flatMap(({ isWhole }, place) => (isWhole ? [place] : []))
  return (
    <>
      <p class="figures">
        <span>
          <b>{count(rows.length)}</b> {rows.length === 1 ? 'compaction' : 'compactions'}
          {withNames ? ` of ${many(found.conversations, 'conversation')}` : ''}
        </span>
        <span>
          <b>{count(totals.all.left.messages)}</b> messages and <b>{count(totals.all.left.tokens)}</b> tokens left
        </span>
        <span>
          <b>{count(totals.all.verdicts.gone)}</b> gone of what they said
        </span>
        <span>
          done again: <b>{costText(totals.all.behind)}</b>
        </span>
      </p>
      <p class="muted">
        Counted by code; no model was asked. Kept, blurred and gone each have their proof: a line of the summary, or a
        revision of the log. Where code cannot tell, it says unknown.
      </p>
      <VerdictTable label="Figures of all that left" counts={totals.all.counts} />
      <h2>Totals</h2>
      <TotalTable totals={totals} />
      <p>
        {compared.messages === 0
          ? 'No message stands behind a compaction so far, so what is done again cannot be measured.'
          : `So that ordinary repetition is not blamed on a compaction, the same is measured before it: over ${many(compared.messages, 'message')} each, ${costText(compared.before)} before and ${costText(compared.behind)} behind.`}
      </p>
      <h2>Each compaction</h2>
      <Table
        label="Each compaction"
        tight
        columns={['Compaction', 'By', { name: 'Recorded (UTC)', is: 'time' }, ...FIGURES]}
        rows={rows.map((row, place) => [
          row.isWhole ? (
            <a href={`#${anchorOf(place)}`}>
              <CycleName row={row} withName={withNames} />
            </a>
          ) : (
            <CycleName row={row} withName={withNames} />
          ),
          seen(byText(row.keys)),
          <Time at={row.recordedAt} />,
          ...figuresOf(row),
        ])}
      />
      {whole.length === rows.length ? null : (
        <p class="note">
          Whole below: the {count(whole.length)} behind which most was done again, or of which most is gone. Of any
          other one <code>context-ledger forgotten CONVERSATION --cycle N</code> tells the same.
        </p>
      )}
      {whole.map((each, at) => {
        const place = wholePlaces[at] ?? 0
        const row = rows[place]
        return (
          <section class="compaction" id={anchorOf(place)}>
            <h2>
              {row === undefined ? null : <CycleName row={row} withName={withNames} />}
              {linked ? (
                <a class="facts" href={link('/difference', { c: each.conversationId, cycle: each.cycle })}>
                  {' '}
                  what left and came
                </a>
              ) : null}
            </h2>
            <ForgottenCycleView found={each} linked={linked} />
          </section>
        )
      })}
    </>
  )
}
