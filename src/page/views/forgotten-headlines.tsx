/** Losses as sentences, each with its compaction, the message that said it, and the cost. */
import type { Child } from 'hono/jsx'
import type { ItemKind } from '../../forgotten/items.js'
import type { ForgottenCycle, JudgedItem } from '../../library/ledger.js'
import type { Titles } from '../../library/titles.js'
import { costText, MAX_CHARACTERS, RevisionLink, type Linked } from './forgotten-cycle.js'
import { count, cut, many, Name, visible } from './text.js'

type Loss = ForgottenCycle['report']['foremost']['losses'][number]

interface Headline {
  readonly cycle: ForgottenCycle
  readonly loss: Loss
}

/** Sentences that are not folded: of what is lost, and of what may be. */
const MAX_LOST = 8
const MAX_UNCERTAIN = 3

const KNEW: Readonly<Record<JudgedItem['verdict'], string>> = {
  gone: 'the agent no longer knew',
  blurred: 'the agent knew only a part of',
  unknown: 'the agent may no longer have known',
  kept: 'the agent knew',
}

const KINDS: Readonly<Record<ItemKind, string>> = {
  request: 'a request',
  constraint: 'a rule',
  decision: 'a decision',
  error: 'an error',
  file: 'a file',
  identifier: 'a name',
  number: 'a number',
  openCall: 'a call without a result',
  subAgent: 'a running sub-agent',
}

const SAID_BY: Readonly<Record<JudgedItem['saidBy'], string>> = {
  user: 'the user',
  assistant: 'the agent',
  tool: 'a tool result',
  system: 'the instructions',
  developer: 'the instructions',
}

/** Names and numbers say little alone: the message that has them is quoted. */
const QUOTED: ReadonlySet<ItemKind> = new Set(['file', 'identifier', 'number'])

/** The words around a name in a text. */
function around(text: string, name: string): string | undefined {
  const at = text.indexOf(name)
  return at === -1 || text.trim() === name ? undefined : cut(text.slice(Math.max(0, at - 60)), 140)
}

/** 1 → "1st", 22 → "22nd". */
function ordinal(value: number): string {
  const suffixes: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd' }
  return `${count(value)}${suffixes[new Intl.PluralRules('en', { type: 'ordinal' }).select(value)] ?? 'th'}`
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
      {names === undefined ? null : (
        <>
          <Name text={names.get(cycle.conversationId) ?? cycle.conversationId} most={60} />:{' '}
        </>
      )}
      After the {ordinal(cycle.cycle)} compaction {children}:
    </p>
  )
}

function LostItem({
  headline: { cycle },
  item,
  names,
  linked,
}: Linked & { headline: Headline; item: JudgedItem; names: Titles | undefined }): Child {
  const { text, said, saidBy, kind, verdict, mentions, isNeededAgain } = item
  const quoted = QUOTED.has(kind) ? around(said.text, text) : undefined
  return (
    <li class={`headline ${verdict}`} tabindex={-1}>
      <Lead cycle={cycle} names={names}>
        {KNEW[verdict]}
      </Lead>
      <p class="what">{visible(cut(text, MAX_CHARACTERS))}</p>
      {quoted === undefined ? null : (
        <p class="facts">
          <q>{visible(quoted)}</q>
        </p>
      )}
      <p class="facts">
        {KINDS[kind]} from {SAID_BY[saidBy]},{' '}
        <RevisionLink c={cycle.conversationId} revision={said.revision} messageId={said.messageId} linked={linked} />
        {mentions > 1 ? ` and in ${many(mentions - 1, 'more message')}` : null}
        {isNeededAgain === true ? <b class="bad"> · needed again later</b> : null}
      </p>
    </li>
  )
}

function RepeatedWork({
  headline: { cycle },
  loss,
  names,
  linked,
}: Linked & { headline: Headline; loss: Extract<Loss, { kind: 'repeated' }>; names: Titles | undefined }): Child {
  const { conversationId: c } = cycle
  return (
    <li class="headline repeated" tabindex={-1}>
      <Lead cycle={cycle} names={names}>
        the agent did again what it had done before
      </Lead>
      <p class="what">
        {visible(loss.tool === '' ? loss.use : loss.tool)} <code>{visible(cut(loss.subject, MAX_CHARACTERS))}</code>
      </p>
      <p class="facts">
        cost <b>{costText(loss.cost)}</b>; {linked ? null : 'first at '}
        <RevisionLink c={c} revision={loss.first.revision} messageId={loss.first.messageId} linked={linked}>
          first call
        </RevisionLink>
        , {linked ? null : 'again at '}
        <RevisionLink c={c} revision={loss.again.revision} messageId={loss.again.messageId} linked={linked}>
          repeated call
        </RevisionLink>
      </p>
    </li>
  )
}

function List({
  headlines,
  names,
  linked,
}: Linked & { headlines: readonly Headline[]; names: Titles | undefined }): Child {
  return (
    <ul class="headlines">
      {headlines.map((headline) =>
        headline.loss.kind === 'item' ? (
          <LostItem headline={headline} item={headline.loss.item} names={names} linked={linked} />
        ) : (
          <RepeatedWork headline={headline} loss={headline.loss} names={names} linked={linked} />
        ),
      )}
    </ul>
  )
}

/** Losses that say something by themselves come before names and numbers; of these, the ones that were needed again. */
const tierOf = (loss: Loss): number =>
  loss.kind === 'repeated' || !QUOTED.has(loss.item.kind) ? 0 : loss.item.isNeededAgain === true ? 1 : 2

/** The losses of the compactions: in each tier, the most important of each compaction before the next of each. */
function headlinesOf(cycles: readonly ForgottenCycle[]): readonly Headline[] {
  const ranked = cycles.flatMap((cycle) => cycle.report.foremost.losses.map((loss, rank) => ({ cycle, loss, rank })))
  return ranked.toSorted((a, b) => tierOf(a.loss) - tierOf(b.loss) || a.rank - b.rank)
}

const isUncertain = ({ loss }: Headline): boolean => loss.kind === 'item' && loss.item.verdict === 'unknown'

/** The first headlines, and the others folded. */
function FoldedList({
  headlines,
  most,
  names,
  linked,
}: Linked & { headlines: readonly Headline[]; most: number; names: Titles | undefined }): Child {
  const rest = headlines.slice(most)
  return (
    <>
      <List headlines={headlines.slice(0, most)} names={names} linked={linked} />
      {rest.length === 0 ? null : (
        <details class="fold">
          <summary>{count(rest.length)} more</summary>
          <List headlines={rest} names={names} linked={linked} />
        </details>
      )}
    </>
  )
}

/** The most important losses, then what may be lost. */
export function Headlines({
  cycles,
  names,
  linked,
}: Linked & { cycles: readonly ForgottenCycle[]; names: Titles | undefined }): Child {
  const headlines = headlinesOf(cycles)
  if (headlines.length === 0) return <p class="empty">No loss was found.</p>
  const lost = headlines.filter((headline) => !isUncertain(headline))
  const uncertain = headlines.filter(isUncertain)
  return (
    <>
      {lost.length === 0 ? null : <FoldedList headlines={lost} most={MAX_LOST} names={names} linked={linked} />}
      {uncertain.length === 0 ? null : (
        <>
          <h3>May be lost</h3>
          <p class="facts">The summary has no words of these. It may say the same in other words.</p>
          <FoldedList headlines={uncertain} most={MAX_UNCERTAIN} names={names} linked={linked} />
        </>
      )}
    </>
  )
}
