/**
 * Losses as sentences, each with its compaction, the message that said it, and the cost. The sections have the totals of
 * the report; items without a sentence are folded lines.
 */
import type { Child } from 'hono/jsx'
import type { ForgottenCycle, ForgottenTotal, JudgedItem } from '../../../library/ledger.js'
import type { Titles } from '../../../library/titles.js'
import { ITEM_NAMES } from '../../../domain/reports/loss-items.js'
import { costText, ItemList, MAX_CHARACTERS, quoteOf, type PlacedItem } from './forgotten-cycle.js'
import { MessagePlace, type Places } from './places.js'
import { count, cut, many, Name, visible } from './text.js'

type Loss = ForgottenCycle['report']['foremost']['losses'][number]

interface Headline<Of extends Loss = Loss> {
  readonly cycle: ForgottenCycle
  readonly loss: Of
}

interface HeadlineProps {
  /** Titles, if the compactions belong to several conversations. */
  readonly names: Titles | undefined
  readonly places: Places
}

/** Sentences that are not folded. */
const MAX_REPEATED = 3
const MAX_LOST = 8
const MAX_UNCERTAIN = 5

const KNEW = {
  lost: 'the agent no longer knew',
  unknown: 'the agent may no longer have known',
  partial: 'the agent knew only a part of',
} as const

/** "a rule", "an error". */
const withArticle = (noun: string): string => `${/^[aeiou]/u.test(noun) ? 'an' : 'a'} ${noun}`

const SAID_BY: Readonly<Record<JudgedItem['saidBy'], string>> = {
  user: 'the user',
  assistant: 'the agent',
  tool: 'a tool result',
  system: 'the instructions',
  developer: 'the instructions',
}

/** 1 → "1st", 22 → "22nd". */
function ordinal(value: number): string {
  const suffixes: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd' }
  return `${count(value)}${suffixes[new Intl.PluralRules('en', { type: 'ordinal' }).select(value)] ?? 'th'}`
}

function CycleTitle({ cycle, names }: { cycle: ForgottenCycle; names: Titles | undefined }): Child {
  return names === undefined ? null : (
    <>
      <Name text={names.get(cycle.conversationId) ?? cycle.conversationId} most={60} />:{' '}
    </>
  )
}

function Lead({
  cycle,
  names,
  children,
}: {
  cycle: ForgottenCycle
  names: Titles | undefined
  children?: Child
}): Child {
  return (
    <p class="lead">
      <CycleTitle cycle={cycle} names={names} />
      After the {ordinal(cycle.cycle)} compaction {children}:
    </p>
  )
}

type LossVerdict = keyof typeof KNEW
type ItemLoss = Extract<Loss, { kind: 'item' }>

function LostItem({
  headline: { cycle, loss },
  verdict,
  names,
  places,
}: HeadlineProps & { headline: Headline<ItemLoss>; verdict: LossVerdict }): Child {
  const { text, said, saidBy, kind, mentions, neededAt } = loss.item
  const quoted = quoteOf(loss.item)
  return (
    <li class={`headline ${verdict}`} tabindex={-1}>
      <Lead cycle={cycle} names={names}>
        {KNEW[verdict]}
      </Lead>
      <p class="what">{visible(text)}</p>
      {quoted === undefined ? null : (
        <p class="facts">
          <q>{visible(quoted)}</q>
        </p>
      )}
      <p class="facts">
        {withArticle(ITEM_NAMES[kind].one)} from {SAID_BY[saidBy]},{' '}
        <MessagePlace c={cycle.conversationId} revision={said.revision} messageId={said.messageId} places={places} />
        {mentions > 1 ? ` and in ${many(mentions - 1, 'more message')}` : null}
        {neededAt === undefined ? null : (
          <b class="bad">
            {' '}
            · needed again in{' '}
            <MessagePlace
              c={cycle.conversationId}
              revision={neededAt.revision}
              messageId={neededAt.messageId}
              places={places}
            />
          </b>
        )}
      </p>
    </li>
  )
}

type RepeatedLoss = Extract<Loss, { kind: 'repeated' }>

function RepeatedWork({
  headline: { cycle, loss },
  names,
  places,
}: HeadlineProps & { headline: Headline<RepeatedLoss> }): Child {
  const { conversationId: c } = cycle
  const { tool, use, subject, cost, first, again } = loss
  return (
    <li class="headline repeated" tabindex={-1}>
      <Lead cycle={cycle} names={names}>
        the agent did again what it had done before
      </Lead>
      <p class="what">
        {visible(tool === '' ? use : tool)} <code>{visible(cut(subject, MAX_CHARACTERS))}</code>
      </p>
      <p class="facts">
        cost <b>{costText(cost)}</b>; first call in{' '}
        <MessagePlace c={c} revision={first.revision} messageId={first.messageId} places={places} />, repeated in{' '}
        <MessagePlace c={c} revision={again.revision} messageId={again.messageId} places={places} />
      </p>
    </li>
  )
}

/** The foremost losses of the compactions: the most important of each compaction before the next of each. */
function headlinesOf(cycles: readonly ForgottenCycle[]): readonly Headline[] {
  return cycles
    .flatMap((cycle) => cycle.report.foremost.losses.map((loss, rank) => ({ headline: { cycle, loss }, rank })))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ headline }) => headline)
}

/** The sentences of a verdict: the losses that matter. Names and files are left to the folded lines. */
const itemHeadlines = (cycles: readonly ForgottenCycle[], verdict: LossVerdict): readonly Headline<ItemLoss>[] =>
  headlinesOf(cycles).flatMap(({ cycle, loss }) =>
    loss.kind === 'item' && loss.item.verdict === verdict ? [{ cycle, loss }] : [],
  )

const keyOf = ({ conversationId, revision }: ForgottenCycle, { kind, text, said }: JudgedItem): string =>
  JSON.stringify([conversationId, revision, kind, text, said.messageId])

/** The items of a verdict without a sentence, as lines. */
function otherItems(
  cycles: readonly ForgottenCycle[],
  verdict: JudgedItem['verdict'],
  headlines: readonly Headline<ItemLoss>[],
  names: Titles | undefined,
): readonly PlacedItem[] {
  const inSentences = new Set(headlines.map(({ cycle, loss }) => keyOf(cycle, loss.item)))
  return cycles.flatMap((cycle) =>
    cycle.report.items
      .filter((item) => item.verdict === verdict && !inSentences.has(keyOf(cycle, item)))
      .map((item) => ({
        c: cycle.conversationId,
        item,
        after: (
          <>
            <CycleTitle cycle={cycle} names={names} />
            compaction {count(cycle.cycle)}
          </>
        ),
      })),
  )
}

/** The remaining items as lines. Compactions that are not displayed in full add only their number. */
function Rest({
  items,
  total,
  isAll,
  places,
}: {
  items: readonly PlacedItem[]
  total: number
  /** True if the section has no sentences. */
  isAll: boolean
  places: Places
}): Child {
  if (total === 0) return null
  return (
    <details class="fold">
      <summary>{isAll ? `Show ${count(total)} of less importance` : `Show ${count(total)} more`}</summary>
      <ItemList items={items} places={places} />
      {total === items.length ? null : (
        <p class="muted">
          {count(total - items.length)} of compactions that are not shown in full:{' '}
          <code>context-ledger forgotten --json</code> lists them
        </p>
      )}
    </details>
  )
}

/** The items of a verdict: those that matter as sentences, all others folded. Together they are `total`. */
function ItemSection({
  title,
  hint,
  cycles,
  verdict,
  most,
  total,
  names,
  places,
}: HeadlineProps & {
  title: string
  hint?: string
  cycles: readonly ForgottenCycle[]
  verdict: LossVerdict
  most: number
  total: number
}): Child {
  if (total === 0) return null
  const headlines = itemHeadlines(cycles, verdict).slice(0, most)
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {hint === undefined ? null : <p class="facts">{hint}</p>}
      {headlines.length === 0 ? null : (
        <ul class="headlines">
          {headlines.map((headline) => (
            <LostItem headline={headline} verdict={verdict} names={names} places={places} />
          ))}
        </ul>
      )}
      <Rest
        items={otherItems(cycles, verdict, headlines, names)}
        total={total - headlines.length}
        isAll={headlines.length === 0}
        places={places}
      />
    </section>
  )
}

/** Repeated work: the most expensive of each compaction. */
function RepeatedSection({ cycles, names, places }: HeadlineProps & { cycles: readonly ForgottenCycle[] }): Child {
  const headlines = headlinesOf(cycles).flatMap(({ cycle, loss }) =>
    loss.kind === 'repeated' ? [{ cycle, loss }] : [],
  )
  if (headlines.length === 0) return null
  const list = (some: typeof headlines): Child => (
    <ul class="headlines">
      {some.map((headline) => (
        <RepeatedWork headline={headline} names={names} places={places} />
      ))}
    </ul>
  )
  const rest = headlines.slice(MAX_REPEATED)
  return (
    <section aria-label="Repeated work">
      <h3>Repeated work</h3>
      {list(headlines.slice(0, MAX_REPEATED))}
      {rest.length === 0 ? null : (
        <details class="fold">
          <summary>{count(rest.length)} more</summary>
          {list(rest)}
        </details>
      )}
    </section>
  )
}

/** Why the items that may be lost are uncertain. */
function hintOf(cycles: readonly ForgottenCycle[]): string {
  const unread = cycles.filter(({ report }) => report.summary.kind === 'opaque').length
  if (unread === 0) return 'Not certain: the summary may say this in other words.'
  return unread === cycles.length
    ? 'The summary is encrypted or not in the transcript, so what it keeps is unknown.'
    : 'Not certain: the summary may say this in other words, or cannot be read.'
}

/**
 * The losses in sections: repeated work, lost items, possibly lost items, partial items. In each, those that matter come
 * first.
 * @param verdicts the totals, of all compactions: the sections have as many items
 */
export function Headlines({
  cycles,
  verdicts: { lost, partial, unknown },
  names,
  places,
}: HeadlineProps & { cycles: readonly ForgottenCycle[]; verdicts: ForgottenTotal['verdicts'] }): Child {
  const common = { cycles, names, places }
  if (lost + partial + unknown === 0 && headlinesOf(cycles).length === 0) return <p class="empty">No loss was found.</p>
  return (
    <>
      <RepeatedSection {...common} />
      <ItemSection {...common} title="Lost" verdict="lost" most={MAX_LOST} total={lost} />
      <ItemSection
        {...common}
        title="May be lost"
        hint={hintOf(cycles)}
        verdict="unknown"
        most={MAX_UNCERTAIN}
        total={unknown}
      />
      <ItemSection {...common} title="Partial" verdict="partial" most={MAX_UNCERTAIN} total={partial} />
    </>
  )
}
