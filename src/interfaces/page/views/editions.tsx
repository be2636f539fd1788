/** The editions of a conversation, and the comparison of an edition with the active context. */
import type { Child } from 'hono/jsx'
import type { Edition, EditionComparison, EditionOfConversation, EditionReport } from '../../../library/ledger.js'
import { shellWord } from '../../../lib/platform.js'
import { conversationLink, link } from '../links.js'
import { turnText, type Places } from './places.js'
import { TextDifference } from './text-difference.js'
import { figure, Table } from './table.js'
import { count, many, Name, plain, visible, Time } from './text.js'

/** An edition and its state in one conversation. */
export interface ConversationEdition {
  readonly edition: Edition
  readonly entry: EditionOfConversation
}

const STATES: Readonly<Record<EditionOfConversation['state'], string>> = {
  'in-the-making': 'not adopted',
  'in-force': 'adopted',
  'was-in-force': 'was adopted',
  dropped: 'dropped',
}

/** What made an edition: its strategy, its model, and when. */
function EditionName({ edition }: { edition: Edition }): Child {
  const { summarizer, startedAt, editionId } = edition
  const by = [summarizer?.strategy, summarizer?.model].filter(
    (each, at, all) => each !== undefined && all.indexOf(each) === at,
  )
  return (
    <span title={plain(editionId)}>
      Edition of <Time at={startedAt} isShort />
      {by.length === 0 ? null : ` (${plain(by.join(', '))})`}
    </span>
  )
}

/** What an edition is, and the commands that make one. The page itself only reads. */
function NoEditions({ c }: { c: string }): Child {
  const command = `context-ledger replay ${plain(shellWord(c))}`
  return (
    <>
      <p>
        This conversation has no editions yet. An edition is another compaction of the same history, with another
        prompt, model or policy. The agent keeps its context until you adopt the edition.
      </p>
      <p>Make one in a terminal; this page then shows what it keeps and loses compared with the agent’s context:</p>
      <pre class="code command">{`${command} --chunk-size 10\n${command} --prompt new.txt`}</pre>
      <p class="muted">
        The first changes the policy and needs no model; the second changes the prompt. Each prints an estimate before
        it starts. <code>context-ledger replay --help</code> lists all options.
      </p>
    </>
  )
}

/** The editions of a conversation. */
export function Editions({ c, editions }: { c: string; editions: readonly ConversationEdition[] }): Child {
  if (editions.length === 0) return <NoEditions c={c} />
  return (
    <>
      <p class="muted">
        Each edition compacts the same history in another way. Open one to see what it keeps and loses compared with the
        context that the agent gets.
      </p>
      <Table
        label="Editions"
        columns={['Edition', 'State', figure('Compactions'), figure('Summaries'), figure('Tokens spent')]}
        rows={editions.map(({ edition, entry }) => [
          <a href={link('/edition', { c, e: edition.editionId })}>
            <EditionName edition={edition} />
          </a>,
          STATES[entry.state],
          count(entry.cycles),
          count(entry.summariesBought + entry.summariesReused),
          count(entry.promptTokens + entry.completionTokens),
        ])}
      />
    </>
  )
}

type Figures = EditionReport['figures']['edition']

const FIGURES: readonly (readonly [keyof Figures, string])[] = [
  ['contextTokens', 'tokens of the context'],
  ['viewTokens', 'tokens of the summaries'],
  ['batches', 'summaries'],
  ['depth', 'summaries of summaries'],
  ['cycles', 'compactions'],
  ['messagesCompressed', 'messages summarized'],
  ['calls', 'model calls'],
  ['tokensBought', 'tokens spent'],
]

const signed = (value: number): string => (value > 0 ? `+${count(value)}` : value < 0 ? `−${count(-value)}` : '0')

/** Kinds of items, named as in the report of losses. */
const KINDS: Readonly<Record<EditionReport['losses'][number]['kind'], string>> = {
  pinned: 'pinned messages',
  constraints: 'rules',
  files: 'files',
  identifiers: 'names',
  numbers: 'numbers',
}

/** Lost and gained items, as counts and as lists. */
function LossReport({ c, report, otherName }: { c: string; report: EditionReport; otherName: string }): Child {
  const named = report.losses.flatMap(({ kind, lost, gained }) => [
    { title: `Lost: ${KINDS[kind]}`, list: lost.kept, tone: 'bad' },
    { title: `Kept, but not in the context: ${KINDS[kind]}`, list: lost.shown, tone: 'warn' },
    { title: `Gained: ${KINDS[kind]}`, list: gained.kept, tone: 'good' },
  ])
  return (
    <section aria-label="Loss report">
      <h3>What it loses and gains</h3>
      <Table
        label="Lost and gained items"
        columns={['Kind', ...['total', otherName, 'edition', 'lost', 'gained'].map((name) => figure(name))]}
        rows={report.losses
          .filter(({ total }) => total > 0)
          .map(({ kind, total, against, edition, lost, gained }) => [
            KINDS[kind],
            ...[total, against.kept, edition.kept, lost.kept.count, gained.kept.count].map((value) => count(value)),
          ])}
      />
      {named.map(({ title, list, tone }) =>
        list.count === 0 ? null : (
          <details open={tone === 'bad'}>
            <summary>
              <b class={tone}>{title}</b> ({count(list.count)})
            </summary>
            <ul>
              {list.items.map(({ text, messageId, mentions }) => (
                <li>
                  {visible(text)}{' '}
                  <a class="facts" href={conversationLink({ c, at: `message:${messageId}`, m: messageId })}>
                    where it was said
                  </a>
                  {mentions > 1 ? <span class="muted"> in {many(mentions, 'message')}</span> : null}
                </li>
              ))}
            </ul>
          </details>
        ),
      )}
    </section>
  )
}

/** Compares an edition with the other side: figures, losses and views. */
export function EditionView({
  comparison,
  against,
  editions,
  editionId,
  places,
}: {
  comparison: EditionComparison
  /** The other side: the active context, or another edition. */
  against: string
  /** Editions available for comparison. */
  editions: readonly Edition[]
  editionId: string
  places: Places
}): Child {
  const { conversationId: c, report, view } = comparison
  const { figures, viewLines } = report
  const isActive = against === 'in-force'
  const otherName = isActive ? 'active' : 'other edition'
  const otherSide = isActive ? 'the active context' : 'the other edition'
  const edition = editions.find((each) => each.editionId === editionId)
  return (
    <>
      <h2>
        {edition === undefined ? <Name text={editionId} most={40} /> : <EditionName edition={edition} />}, compared with{' '}
        {otherSide}
        <span class="facts"> as of {turnText(places.turnOf, c, report.conversationRevision)}</span>
      </h2>
      {editions.length < 2 ? null : (
        <p class="figures">
          <span>Compare with</span>
          <a href={link('/edition', { c, e: editionId })} aria-current={isActive ? 'true' : undefined}>
            the active context
          </a>
          {editions
            .filter((each) => each.editionId !== editionId)
            .map((other) => (
              <a
                href={link('/edition', { c, e: editionId, against: other.editionId })}
                aria-current={other.editionId === against ? 'true' : undefined}
              >
                <EditionName edition={other} />
              </a>
            ))}
        </p>
      )}
      <div class="columns">
        <section aria-label="Both sides">
          <h3>Figures</h3>
          <Table
            label="Figures"
            columns={['Figure', figure(otherName), figure('edition'), figure('difference')]}
            rows={FIGURES.map(([key, name]) => [
              name,
              count(figures.against[key]),
              count(figures.edition[key]),
              signed(figures.edition[key] - figures.against[key]),
            ])}
          />
        </section>
        <LossReport c={c} report={report} otherName={otherName} />
      </div>
      <section aria-label="The views">
        <h3>
          Summaries as text: {many(viewLines.same, 'line')} unchanged, {count(viewLines.removed)} only in {otherSide},{' '}
          {count(viewLines.added)} only in the edition
        </h3>
        {view.length === 0 ? (
          <p class="muted">Both texts are equal.</p>
        ) : (
          <SideBySide view={view} otherName={otherName} />
        )}
      </section>
    </>
  )
}

/** Both views, in two columns on a wide screen. */
function SideBySide({ view, otherName }: { view: EditionComparison['view']; otherName: string }): Child {
  return (
    <div class="columns">
      <section aria-label={otherName}>
        <h4>{otherName}</h4>
        <TextDifference changes={view.filter(({ kind }) => kind !== 'added')} name={`Lines of ${otherName}`} />
      </section>
      <section aria-label="edition">
        <h4>edition</h4>
        <TextDifference changes={view.filter(({ kind }) => kind !== 'removed')} name="Lines of the edition" />
      </section>
    </div>
  )
}
