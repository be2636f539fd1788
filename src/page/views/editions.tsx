/** The editions of a conversation, and the comparison of an edition with the active context. */
import type { Child } from 'hono/jsx'
import type { Edition, EditionComparison, EditionOfConversation, EditionReport } from '../../library/ledger.js'
import { conversationLink, link } from '../links.js'
import { TextDifference } from './text-difference.js'
import { figure, Table } from './table.js'
import { count, many, Name, visible, Time } from './text.js'

/** An edition and its state in one conversation. */
export interface ConversationEdition {
  readonly edition: Edition
  readonly entry: EditionOfConversation
}

/** The editions of a conversation. */
export function Editions({ c, editions }: { c: string; editions: readonly ConversationEdition[] }): Child {
  if (editions.length === 0)
    return (
      <p class="empty">
        No editions of this conversation. <code>context-ledger replay</code> creates one: another compaction of the same
        history.
      </p>
    )
  return (
    <Table
      label="Editions"
      columns={[
        'Edition',
        'Made by',
        'State',
        figure('Cycles'),
        figure('Summaries'),
        figure('Tokens'),
        { name: 'Started (UTC)', is: 'time' },
      ]}
      rows={editions.map(({ edition, entry }) => [
        <a href={link('/edition', { c, e: edition.editionId })}>
          <Name text={edition.editionId} most={40} />
        </a>,
        <Name text={`${edition.summarizer?.strategy ?? ''} ${edition.summarizer?.model ?? ''}`} most={50} />,
        entry.state,
        count(entry.cycles),
        count(entry.summariesBought + entry.summariesReused),
        count(entry.promptTokens + entry.completionTokens),
        <Time at={edition.startedAt} />,
      ])}
    />
  )
}

type Figures = EditionReport['figures']['edition']

const FIGURES: readonly (readonly [keyof Figures, string])[] = [
  ['contextTokens', 'tokens of the context'],
  ['viewTokens', 'tokens of the view'],
  ['batches', 'batches'],
  ['depth', 'depth'],
  ['cycles', 'cycles'],
  ['messagesCompressed', 'messages compressed'],
  ['calls', 'model calls'],
  ['tokensBought', 'tokens spent'],
]

const signed = (value: number): string => (value > 0 ? `+${count(value)}` : value < 0 ? `−${count(-value)}` : '0')

/** Lost and gained items, as counts and as lists. */
function LossReport({ c, report }: { c: string; report: EditionReport }): Child {
  const named = report.losses.flatMap(({ kind, lost, gained }) => [
    { title: `lost ${kind}`, list: lost.kept, tone: 'bad' },
    { title: `${kind} no longer shown`, list: lost.shown, tone: 'warn' },
    { title: `gained ${kind}`, list: gained.kept, tone: 'good' },
  ])
  return (
    <section aria-label="Loss report">
      <h3>Loss report</h3>
      <Table
        label="Kept, shown, lost and gained items"
        tight
        columns={[
          'Kind',
          ...[
            'total',
            'kept, other side',
            'kept, edition',
            'lost',
            'gained',
            'shown, other side',
            'shown, edition',
          ].map((name) => figure(name)),
        ]}
        rows={report.losses.map(({ kind, total, against, edition, lost, gained }) => [
          kind,
          ...[total, against.kept, edition.kept, lost.kept.count, gained.kept.count, against.shown, edition.shown].map(
            (value) => count(value),
          ),
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
                    <Name text={messageId} most={30} />
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
}: {
  comparison: EditionComparison
  /** The other side: the active context, or another edition. */
  against: string
  /** Editions available for comparison. */
  editions: readonly string[]
  editionId: string
}): Child {
  const { conversationId: c, report, view } = comparison
  const { figures, viewLines } = report
  const otherName = against === 'in-force' ? 'active' : against
  const otherSide = against === 'in-force' ? 'the active context' : `edition ${against}`
  return (
    <>
      <h2>
        Edition <Name text={editionId} most={40} /> compared with {otherSide}
        <span class="facts"> as of revision {count(report.conversationRevision)}</span>
      </h2>
      {editions.length < 2 ? null : (
        <p class="figures">
          <span>compare with</span>
          {['in-force', ...editions.filter((each) => each !== editionId)].map((other) => (
            <a
              href={link('/edition', { c, e: editionId, against: other === 'in-force' ? undefined : other })}
              aria-current={other === against ? 'true' : undefined}
            >
              {other === 'in-force' ? 'active' : other}
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
        <LossReport c={c} report={report} />
      </div>
      <section aria-label="The views">
        <h3>
          Views: {many(viewLines.same, 'line')} unchanged, {count(viewLines.removed)} only in {otherSide},{' '}
          {count(viewLines.added)} only in the edition
        </h3>
        {view.length === 0 ? (
          <p class="muted">The views are equal.</p>
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
