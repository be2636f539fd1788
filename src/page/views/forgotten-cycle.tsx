/**
 * The losses of one compaction: the removed content, what the summary keeps of it with proof, and the tool calls repeated
 * after the compaction, compared with those before it. The page and the report files use the same view.
 */
import type { Child, PropsWithChildren } from 'hono/jsx'
import { duration } from '../../domain/text/count.js'
import { ITEM_KINDS, ITEM_NAMES, type ItemKind } from '../../forgotten/items.js'
import type { ForgottenCycle, ForgottenTotal, JudgedItem } from '../../library/ledger.js'
import { conversationLink } from '../links.js'
import { figure, Table } from './table.js'
import { count, cut, many, plain, visible } from './text.js'

type Report = ForgottenCycle['report']
type Pair = Report['doneAgain'][number]
type Repeated = Report['behind']
type Verdict = JudgedItem['verdict']

/** The recorded verdicts in display order, and their labels. */
export const VERDICTS = ['gone', 'blurred', 'kept', 'unknown'] as const
export const VERDICT_NAMES: Readonly<Record<Verdict, string>> = {
  gone: 'lost',
  blurred: 'partial',
  kept: 'kept',
  unknown: 'unknown',
}
const VERDICT_HINTS: Readonly<Record<Verdict, string>> = {
  gone: 'the context no longer contains it',
  blurred: 'the context contains a part of it',
  kept: 'the summary or a remaining message contains it',
  unknown: 'could not be determined',
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

/** Maximum number of listed items per kind and verdict. */
const MAX_LISTED = 40
export const MAX_CHARACTERS = 240

/** False in report files, which have no links to the page. */
export interface Linked {
  readonly linked: boolean
}

/** A link to the message; in report files, which have no links to the page, its revision. */
export function RevisionLink({
  c,
  revision,
  messageId,
  linked,
  children = 'where it was said',
}: PropsWithChildren<Linked & { c: string; revision: string; messageId: string }>): Child {
  const words = `revision ${count(Number(revision))}`
  return linked ? (
    <a class="facts" href={conversationLink({ c, at: revision, m: messageId })} title={words}>
      {children}
    </a>
  ) : (
    <span class="facts">{words}</span>
  )
}

export const costText = ({
  calls,
  tokens,
  milliseconds,
}: Pick<Repeated, 'calls' | 'tokens' | 'milliseconds'>): string =>
  `${many(calls, 'tool call')}, ${many(tokens, 'token')}${milliseconds < 1_000 ? '' : `, ${duration(milliseconds / 1_000)}`}`

/** A unique label for screen readers. */
const labelOf = (part: string, { conversationId, cycle, revision }: ForgottenCycle): string =>
  `${part}: cycle ${count(cycle)} at revision ${count(revision)} of ${plain(cut(conversationId, 80))}`

/** Counts by kind and verdict. */
export function VerdictTable({ label, counts }: { label: string; counts: ForgottenTotal['counts'] }): Child {
  const some = ITEM_KINDS.filter((kind) => VERDICTS.some((verdict) => counts[kind][verdict] > 0))
  if (some.length === 0)
    return <p class="empty">The removed messages contain no requests, constraints, decisions or names.</p>
  return (
    <Table
      label={label}
      columns={['Removed content', ...VERDICTS.map((verdict) => figure(VERDICT_NAMES[verdict]))]}
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
          still in the context,{' '}
          <RevisionLink c={c} revision={proof.revision} messageId={proof.messageId} linked={linked}>
            in this message
          </RevisionLink>
        </>
      )}
      : <q>{visible(cut(proof.text, MAX_CHARACTERS))}</q>
    </div>
  )
}

function ItemLine({
  c,
  item,
  linked,
  label,
}: Linked & {
  c: string
  item: JudgedItem
  /** Kind and verdict of the item, if no heading has them. */
  label?: string
}): Child {
  const { text, said, mentions, resolvedBy } = item
  return (
    <li>
      {label === undefined ? null : (
        <>
          <span class="kind">{label}</span>{' '}
        </>
      )}
      {visible(cut(text, MAX_CHARACTERS))}{' '}
      <RevisionLink c={c} revision={said.revision} messageId={said.messageId} linked={linked} />
      {mentions > 1 ? <span class="facts"> in {many(mentions, 'message')}</span> : null}
      {resolvedBy === undefined ? null : (
        <div class="facts">
          resolved{linked ? ', ' : ' at '}
          <RevisionLink c={c} revision={resolvedBy.revision} messageId={resolvedBy.messageId} linked={linked}>
            in this message
          </RevisionLink>
          : {visible(cut(resolvedBy.text, MAX_CHARACTERS))}
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
  const ofKind = items.filter((item) => item.kind === kind)
  if (ofKind.length === 0) return null
  return (
    <>
      <p class="kind">{ITEM_NAMES[kind]}</p>
      <ul>
        {ofKind.slice(0, MAX_LISTED).map((item) => (
          <ItemLine c={c} item={item} linked={linked} />
        ))}
        {ofKind.length > MAX_LISTED ? (
          <li class="muted">
            {count(ofKind.length - MAX_LISTED)} more; <code>context-ledger forgotten --json</code> lists them
          </li>
        ) : null}
      </ul>
    </>
  )
}

/** What the summary keeps of the removed content: counts, and each item with its proof. */
function Verdicts({ found, linked }: Linked & { found: ForgottenCycle }): Child {
  const { conversationId: c, report } = found
  return (
    <section class="fates" aria-label={labelOf('Kept, partial or lost', found)}>
      <h3>Kept, partial or lost</h3>
      <VerdictTable label={labelOf('Counts of removed content', found)} counts={report.counts} />
      {VERDICTS.map((verdict) => {
        const judged = report.items.filter((item) => item.verdict === verdict)
        return judged.length === 0 ? null : (
          <details class={`fate ${verdict}`}>
            <summary>
              <b>
                {VERDICT_NAMES[verdict]} ({count(judged.length)})
              </b>{' '}
              <span class="muted">{VERDICT_HINTS[verdict]}</span>
            </summary>
            {ITEM_KINDS.map((kind) => (
              <KindList c={c} kind={kind} items={judged} linked={linked} />
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
      <span class="kind">{visible(tool === '' ? use : tool)}</span> {visible(cut(subject, MAX_CHARACTERS))}{' '}
      <span class="facts">{costText(cost)}</span>
      <div class="facts">
        first call{linked ? ', ' : ' at '}
        <RevisionLink c={c} revision={first.revision} messageId={first.messageId} linked={linked}>
          in this message
        </RevisionLink>
        : <q>{visible(cut(first.text, MAX_CHARACTERS))}</q>
      </div>
      <div class="facts">
        repeated call{linked ? ', ' : ' at '}
        <RevisionLink c={c} revision={again.revision} messageId={again.messageId} linked={linked}>
          in this message
        </RevisionLink>
        : <q>{visible(cut(again.text, MAX_CHARACTERS))}</q>
      </div>
      {why === undefined ? null : <div class="facts">{WHY_UNKNOWN[why]}</div>}
    </li>
  )
}

const MAX_PAIRS = 200

function Pairs({ c, pairs, linked }: Linked & { c: string; pairs: readonly Pair[] }): Child {
  if (pairs.length === 0) return null
  return (
    <ul>
      {pairs.slice(0, MAX_PAIRS).map((pair) => (
        <PairLine c={c} pair={pair} linked={linked} />
      ))}
      {pairs.length > MAX_PAIRS ? (
        <li class="muted">
          {count(pairs.length - MAX_PAIRS)} more; <code>context-ledger forgotten --json</code> lists them
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
function RepeatedCalls({ found, linked }: Linked & { found: ForgottenCycle }): Child {
  const { conversationId: c, report } = found
  const repeated = report.doneAgain.filter(({ verdict }) => verdict === 'doneAgain')
  const unknown = report.doneAgain.filter(({ verdict }) => verdict === 'unknown')
  return (
    <section class="fates" aria-label={labelOf('Cost', found)}>
      <h3>Cost</h3>
      <p>
        Repeated after the compaction, although the removed messages had the result: <b>{costText(report.behind)}</b>.
      </p>
      <p>{comparedText(report.compared)}</p>
      <Pairs c={c} pairs={repeated} linked={linked} />
      {unknown.length === 0 ? null : (
        <details>
          <summary>
            {many(unknown.length, 'call')} not known <span class="muted">(not counted)</span>
          </summary>
          <Pairs c={c} pairs={unknown} linked={linked} />
        </details>
      )}
    </section>
  )
}

/** Verdicts and cost, without the removed messages, which the difference view shows itself. */
export function ForgottenParts({ found, linked }: Linked & { found: ForgottenCycle }): Child {
  return (
    <>
      <Verdicts found={found} linked={linked} />
      <RepeatedCalls found={found} linked={linked} />
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
export function ForgottenCycleView({ found, linked }: Linked & { found: ForgottenCycle }): Child {
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
      <ForgottenParts found={found} linked={linked} />
    </>
  )
}
