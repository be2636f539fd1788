/**
 * The losses of one compaction: the removed content, what the summary keeps of it with proof, and the tool calls repeated
 * after the compaction, compared with those before it. The page and the report files use the same view.
 */
import type { Child } from 'hono/jsx'
import { duration } from '../../../domain/text/count.js'
import { NAMES } from '../../../application/loss-report/foremost.js'
import { ITEM_KINDS, ITEM_NAMES } from '../../../domain/reports/loss-items.js'
import { VERDICTS, VERDICT_NAMES } from '../../../application/loss-report/judged-item.js'
import { verdictsOf } from '../../../application/losses/totals.js'
import type { ForgottenCycle, ForgottenTotal, JudgedItem } from '../../../library/ledger.js'
import { MessagePlace, type Places } from './places.js'
import { figure, Table } from './table.js'
import { count, cut, many, plain, visible } from './text.js'

type Report = ForgottenCycle['report']
type Pair = Report['doneAgain'][number]
type Repeated = Report['behind']
type Verdict = JudgedItem['verdict']

const VERDICT_HINTS: Readonly<Record<Verdict, string>> = {
  lost: 'the context no longer contains it',
  partial: 'the context contains a part of it',
  kept: 'the summary or a remaining message contains it',
  unknown: 'code cannot decide it',
}
const WHY_UNJUDGED: Readonly<Record<NonNullable<JudgedItem['why']>, string>> = {
  opaque: 'the summary is not readable',
  short: 'too few words to search for',
  script: 'the summary is in another script',
  unsure: 'some of its words occur, possibly about something else',
}
const WHY_UNKNOWN: Readonly<Record<NonNullable<Pair['why']>, string>> = {
  otherAnswer: 'the result is different',
  changedBetween: 'something changed in between',
  noAnswer: 'the result is not recorded',
  failed: 'both failed',
}

/** Maximum number of listed items. */
const MAX_LISTED = 200
/** Kept items that are not folded, each with its proof. Of the others, those that matter are not folded. */
const UNFOLDED_KEPT = 4
export const MAX_CHARACTERS = 240

export const costText = ({
  calls,
  tokens,
  milliseconds,
}: Pick<Repeated, 'calls' | 'tokens' | 'milliseconds'>): string =>
  `${many(calls, 'tool call')}, ${many(tokens, 'token')}${milliseconds < 1_000 ? '' : `, ${duration(milliseconds / 1_000)}`}`

/** A unique label for screen readers. */
const labelOf = (part: string, { conversationId, cycle, revision }: ForgottenCycle): string =>
  `${part}: cycle ${count(cycle)} at event ${count(revision)} of ${plain(cut(conversationId, 80))}`

const NO_ITEMS = 'The removed messages contain no requests, constraints, decisions or names.'

/** Counts by kind and verdict. */
export function VerdictTable({ label, counts }: { label: string; counts: ForgottenTotal['counts'] }): Child {
  const some = ITEM_KINDS.filter((kind) => VERDICTS.some((verdict) => counts[kind][verdict] > 0))
  if (some.length === 0) return <p class="empty">{NO_ITEMS}</p>
  return (
    <Table
      label={label}
      columns={['Removed content', ...VERDICTS.map((verdict) => figure(VERDICT_NAMES[verdict]))]}
      rows={some.map((kind) => [ITEM_NAMES[kind].many, ...VERDICTS.map((verdict) => count(counts[kind][verdict]))])}
    />
  )
}

/** Characters that are quoted before an item. */
const QUOTED_BEFORE = 60

/** The text from about a place, from the beginning of a word; an ellipsis if text is missing before it. */
function fromWord(text: string, place: number): string {
  if (place <= 0) return text
  const rest = text.slice(place)
  return `… ${rest.slice(rest.slice(0, QUOTED_BEFORE).indexOf(' ') + 1)}`
}

/** The words around a name in its message, because names and numbers say little alone; undefined for a sentence, or if there are none. */
export function quoteOf({ kind, text, said }: JudgedItem): string | undefined {
  const at = NAMES.has(kind) ? said.text.indexOf(text) : -1
  return at === -1 || said.text.trim() === text ? undefined : cut(fromWord(said.text, at - QUOTED_BEFORE), 140)
}

/** A judged item, and the conversation that it is from. */
export interface PlacedItem {
  readonly c: string
  readonly item: JudgedItem
  /** The compaction, if the items are of several. */
  readonly after?: Child
}

interface WithPlaces {
  readonly places: Places
}

function ProofOf({ c, item, places }: WithPlaces & { c: string; item: JudgedItem }): Child {
  const { proof, why } = item
  if (proof === undefined) return why === undefined ? null : <div class="facts">{WHY_UNJUDGED[why]}</div>
  return (
    <div class="facts">
      {proof.kind === 'summary' ? (
        `summary line ${count(proof.line)}`
      ) : (
        <>
          still in the context, in{' '}
          <MessagePlace c={c} revision={proof.revision} messageId={proof.messageId} places={places} />
        </>
      )}
      : <q>{visible(cut(proof.text, MAX_CHARACTERS))}</q>
    </div>
  )
}

function ItemLine({ of: { c, item, after }, places }: WithPlaces & { of: PlacedItem }): Child {
  const { kind, text, said, mentions, resolvedBy, proof } = item
  const quoted = proof === undefined ? quoteOf(item) : undefined
  return (
    <li>
      <span class="kind">{ITEM_NAMES[kind].one}</span> {visible(cut(text, MAX_CHARACTERS))}{' '}
      <MessagePlace c={c} revision={said.revision} messageId={said.messageId} places={places} />
      {mentions > 1 ? <span class="facts"> and in {many(mentions - 1, 'more message')}</span> : null}
      {after === undefined ? null : <span class="facts"> · {after}</span>}
      {quoted === undefined ? null : (
        <div class="facts">
          <q>{visible(quoted)}</q>
        </div>
      )}
      {resolvedBy === undefined ? null : (
        <div class="facts">
          resolved in{' '}
          <MessagePlace c={c} revision={resolvedBy.revision} messageId={resolvedBy.messageId} places={places} />:{' '}
          {visible(cut(resolvedBy.text, MAX_CHARACTERS))}
        </div>
      )}
      <ProofOf c={c} item={item} places={places} />
    </li>
  )
}

/** Items in a line each, at most `MAX_LISTED`. */
export function ItemList({ items, places }: WithPlaces & { items: readonly PlacedItem[] }): Child {
  return (
    <ul class="items">
      {items.slice(0, MAX_LISTED).map((each) => (
        <ItemLine of={each} places={places} />
      ))}
      {items.length > MAX_LISTED ? (
        <li class="muted">
          {count(items.length - MAX_LISTED)} more; <code>context-ledger forgotten --json</code> lists them
        </li>
      ) : null}
    </ul>
  )
}

/** The items of one verdict: those that matter, and the others folded. */
function VerdictItems({ found, verdict, places }: WithPlaces & { found: ForgottenCycle; verdict: Verdict }): Child {
  const items = found.report.items
    .filter((item) => item.verdict === verdict)
    .map((item) => ({ c: found.conversationId, item }))
  const name = VERDICT_NAMES[verdict]
  const matters = items.filter(({ item }) => item.matters === true).length
  const limit = verdict === 'kept' ? UNFOLDED_KEPT : matters
  const rest = items.slice(limit)
  return (
    <section class={`fate ${verdict}`} aria-label={labelOf(name, found)}>
      <h4>
        {name} ({count(verdict === 'kept' ? items.length : matters)}){' '}
        <span class="facts">{VERDICT_HINTS[verdict]}</span>
      </h4>
      {items.length === 0 ? <p class="muted">Nothing.</p> : null}
      {limit === 0 ? null : <ItemList items={items.slice(0, limit)} places={places} />}
      {rest.length === 0 ? null : (
        <details class="fold">
          <summary>
            Show {count(rest.length)} {verdict === 'kept' ? 'more' : 'of less importance'}
          </summary>
          <ItemList items={rest} places={places} />
        </details>
      )}
    </section>
  )
}

/** Lost and kept items of the removed messages, in two columns, with their proofs. */
function LostAndKept({ found, places }: WithPlaces & { found: ForgottenCycle }): Child {
  const { counts } = found.report
  const verdicts = verdictsOf(counts)
  // Lost and kept are displayed even if empty.
  const displayed = VERDICTS.filter((verdict) => verdict === 'lost' || verdict === 'kept' || verdicts[verdict] > 0)
  return (
    <section class="fates" aria-label={labelOf('Lost and kept', found)}>
      <h3>Lost and kept</h3>
      {found.report.items.length === 0 ? (
        <p class="empty">{NO_ITEMS}</p>
      ) : (
        <>
          <div class="columns">
            {displayed.map((verdict) => (
              <VerdictItems found={found} verdict={verdict} places={places} />
            ))}
          </div>
          <details class="fold">
            <summary>Counts by kind</summary>
            <VerdictTable label={labelOf('Counts of removed content', found)} counts={counts} />
          </details>
        </>
      )}
    </section>
  )
}

function PairLine({ c, pair, places }: WithPlaces & { c: string; pair: Pair }): Child {
  const { tool, use, subject, first, again, cost, why } = pair
  return (
    <li>
      <span class="kind">{visible(tool === '' ? use : tool)}</span> {visible(cut(subject, MAX_CHARACTERS))}{' '}
      <span class="facts">{costText(cost)}</span>
      <div class="facts">
        first call in <MessagePlace c={c} revision={first.revision} messageId={first.messageId} places={places} />:{' '}
        <q>{visible(cut(first.text, MAX_CHARACTERS))}</q>
      </div>
      <div class="facts">
        repeated in <MessagePlace c={c} revision={again.revision} messageId={again.messageId} places={places} />:{' '}
        <q>{visible(cut(again.text, MAX_CHARACTERS))}</q>
      </div>
      {why === undefined ? null : <div class="facts">{WHY_UNKNOWN[why]}</div>}
    </li>
  )
}

function Pairs({ c, pairs, places }: WithPlaces & { c: string; pairs: readonly Pair[] }): Child {
  if (pairs.length === 0) return null
  return (
    <ul class="items">
      {pairs.slice(0, MAX_LISTED).map((pair) => (
        <PairLine c={c} pair={pair} places={places} />
      ))}
      {pairs.length > MAX_LISTED ? (
        <li class="muted">
          {count(pairs.length - MAX_LISTED)} more; <code>context-ledger forgotten --json</code> lists them
        </li>
      ) : null}
    </ul>
  )
}

/** Repeated calls in two ranges of equal length. */
const comparedText = ({ messages, behind, before }: Report['compared']): string =>
  messages === 0
    ? 'No messages follow the compaction, so there is nothing to compare.'
    : `Repeated within ${many(messages, 'message')} before: ${costText(before)}; after: ${costText(behind)}.`

/** The cost: each repeated call, and the comparison with the range before the compaction. */
function RepeatedCalls({ found, places }: WithPlaces & { found: ForgottenCycle }): Child {
  const { conversationId: c, report } = found
  const repeated = report.doneAgain.filter(({ verdict }) => verdict === 'doneAgain')
  const unknown = report.doneAgain.filter(({ verdict }) => verdict === 'unknown')
  return (
    <section class="fates" aria-label={labelOf('Cost', found)}>
      <h3>Cost</h3>
      {repeated.length === 0 ? (
        <p>No tool call was repeated for a result that was removed.</p>
      ) : (
        <p>
          Repeated after the compaction, although the removed messages had the result: <b>{costText(report.behind)}</b>.{' '}
          <span class="muted">{comparedText(report.compared)}</span>
        </p>
      )}
      <Pairs c={c} pairs={repeated} places={places} />
      {unknown.length === 0 ? null : (
        <details class="fold">
          <summary>
            {many(unknown.length, 'call')} could not be compared <span class="muted">(not counted)</span>
          </summary>
          <Pairs c={c} pairs={unknown} places={places} />
        </details>
      )}
    </section>
  )
}

/** Verdicts and cost, without the removed messages, which the difference view shows itself. */
export function ForgottenParts({ found, places }: WithPlaces & { found: ForgottenCycle }): Child {
  return (
    <>
      <LostAndKept found={found} places={places} />
      <RepeatedCalls found={found} places={places} />
    </>
  )
}

export const byText = (keys: ForgottenCycle['keys']): string =>
  [keys.version ?? keys.program, keys.trigger, keys.strategy].filter((each) => each !== undefined).join(', ')

const summaryText = ({ kind, lines }: Report['summary']): string =>
  kind === 'text'
    ? many(lines, 'line')
    : kind === 'opaque'
      ? 'not readable (encrypted, or not in the transcript), so what it keeps is unknown'
      : 'none: nothing replaces these messages in the context'

/** Removed messages by role, and tool results by tool. */
function RemovedTable({ label, left }: { label: string; left: Report['left'] }): Child {
  const rowsOf = (all: Report['left']['byRole'], of: string): Child[][] =>
    Object.entries(all)
      .toSorted(([, a], [, b]) => b.tokens - a.tokens)
      .map(([name, { messages, tokens }]) => [
        <>
          <span class="muted">{of}</span> {visible(cut(name, 80))}
        </>,
        count(messages),
        count(tokens),
      ])
  return (
    <Table
      label={label}
      columns={['Removed', figure('Messages'), figure('Tokens')]}
      rows={[...rowsOf(left.byRole, 'role'), ...rowsOf(left.byTool, 'tool')]}
    />
  )
}

/** A compaction in full. */
export function ForgottenCycleView({ found, places }: WithPlaces & { found: ForgottenCycle }): Child {
  const { report } = found
  return (
    <>
      <dl class="made">
        <dt>by</dt>
        <dd>{visible(byText(found.keys))}</dd>
        <dt>removed</dt>
        <dd>
          {many(report.left.messages, 'message')}, {many(report.left.tokens, 'token')}
        </dd>
        <dt>summary</dt>
        <dd>{summaryText(report.summary)}</dd>
      </dl>
      <RemovedTable label={labelOf('Removed, by role and tool', found)} left={report.left} />
      <ForgottenParts found={found} places={places} />
    </>
  )
}
