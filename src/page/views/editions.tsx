/** The editions of a conversation, and one of them beside what was in force, with what it keeps and loses. */
import type { Child } from 'hono/jsx'
import type { Edition, EditionComparison, EditionOfConversation, EditionReport } from '../../library/ledger.js'
import { conversationLink, link } from '../links.js'
import { TextDifference } from './cycles.js'
import { count, many, Name, seen, Time } from './text.js'

/** An edition, as it is of one conversation. */
export interface OwnEdition {
  readonly edition: Edition
  readonly own: EditionOfConversation
}

/** The editions of a conversation. */
export function Editions({ c, editions }: { c: string; editions: readonly OwnEdition[] }): Child {
  if (editions.length === 0)
    return (
      <p class="empty">
        No edition of this conversation. <code>context-ledger replay</code> compacts the same history in another way.
      </p>
    )
  return (
    <div class="wide" role="region" aria-label="Editions" tabindex={0}>
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Edition</th>
            <th scope="col">Made by</th>
            <th scope="col">State</th>
            <th scope="col" class="n">
              Cycles
            </th>
            <th scope="col" class="n">
              Summaries
            </th>
            <th scope="col" class="n">
              Tokens
            </th>
            <th scope="col">Begun (UTC)</th>
          </tr>
        </thead>
        <tbody>
          {editions.map(({ edition, own }) => (
            <tr>
              <th scope="row">
                <a href={link('/edition', { c, e: edition.editionId })}>
                  <Name text={edition.editionId} most={40} />
                </a>
              </th>
              <td>
                <Name text={`${edition.summarizer?.strategy ?? ''} ${edition.summarizer?.model ?? ''}`} most={50} />
              </td>
              <td>{own.state}</td>
              <td class="n">{count(own.cycles)}</td>
              <td class="n">{count(own.summariesBought + own.summariesReused)}</td>
              <td class="n">{count(own.promptTokens + own.completionTokens)}</td>
              <td class="time">
                <Time at={edition.startedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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
  ['calls', 'summaries bought'],
  ['tokensBought', 'tokens bought'],
]

const signed = (value: number): string => (value > 0 ? `+${count(value)}` : value < 0 ? `−${count(-value)}` : '0')

/** What is lost and gained, by kind, and by name. */
function LossReport({ c, report }: { c: string; report: EditionReport }): Child {
  const named = report.losses.flatMap(({ kind, lost, gained }) => [
    { title: `lost ${kind}`, list: lost.kept, tone: 'bad' },
    { title: `${kind} not shown any more`, list: lost.shown, tone: 'warn' },
    { title: `gained ${kind}`, list: gained.kept, tone: 'good' },
  ])
  return (
    <section aria-label="Loss report">
      <h3>Loss report</h3>
      <div class="wide" role="region" aria-label="What is kept, shown, lost and gained" tabindex={0}>
        <table class="rows tight">
          <thead>
            <tr>
              <th scope="col">Kind</th>
              <th scope="col" class="n">
                in all
              </th>
              <th scope="col" class="n">
                kept, other side
              </th>
              <th scope="col" class="n">
                kept, edition
              </th>
              <th scope="col" class="n">
                lost
              </th>
              <th scope="col" class="n">
                gained
              </th>
              <th scope="col" class="n">
                shown, other side
              </th>
              <th scope="col" class="n">
                shown, edition
              </th>
            </tr>
          </thead>
          <tbody>
            {report.losses.map(({ kind, total, against, edition, lost, gained }) => (
              <tr>
                <th scope="row">{kind}</th>
                <td class="n">{count(total)}</td>
                <td class="n">{count(against.kept)}</td>
                <td class="n">{count(edition.kept)}</td>
                <td class="n">{count(lost.kept.count)}</td>
                <td class="n">{count(gained.kept.count)}</td>
                <td class="n">{count(against.shown)}</td>
                <td class="n">{count(edition.shown)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {named.map(({ title, list, tone }) =>
        list.count === 0 ? null : (
          <details open={tone === 'bad'}>
            <summary>
              <b class={tone}>{title}</b> ({count(list.count)})
            </summary>
            <ul>
              {list.items.map(({ text, messageId, mentions }) => (
                <li>
                  {seen(text)}{' '}
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

/** An edition beside the other side: figures, losses, and the two views. */
export function EditionView({
  comparison,
  against,
  editions,
  editionId,
}: {
  comparison: EditionComparison
  /** The other side: what was in force, or another edition. */
  against: string
  /** The editions that it may be compared with. */
  editions: readonly string[]
  editionId: string
}): Child {
  const { conversationId: c, report, view } = comparison
  const { figures, viewLines } = report
  const otherName = against === 'in-force' ? 'in force' : against
  const otherSide = against === 'in-force' ? 'what is in force' : `edition ${against}`
  return (
    <>
      <h2>
        Edition <Name text={editionId} most={40} /> beside {otherSide}
        <span class="facts"> as of revision {count(report.conversationRevision)}</span>
      </h2>
      {editions.length < 2 ? null : (
        <p class="figures">
          <span>beside</span>
          {['in-force', ...editions.filter((each) => each !== editionId)].map((other) => (
            <a
              href={link('/edition', { c, e: editionId, against: other === 'in-force' ? undefined : other })}
              aria-current={other === against ? 'true' : undefined}
            >
              {other === 'in-force' ? 'in force' : other}
            </a>
          ))}
        </p>
      )}
      <div class="columns">
        <section aria-label="Both sides">
          <h3>Figures</h3>
          <div class="wide" role="region" aria-label="Figures" tabindex={0}>
            <table class="rows">
              <thead>
                <tr>
                  <th scope="col">Figure</th>
                  <th scope="col" class="n">
                    {otherName}
                  </th>
                  <th scope="col" class="n">
                    edition
                  </th>
                  <th scope="col" class="n">
                    difference
                  </th>
                </tr>
              </thead>
              <tbody>
                {FIGURES.map(([key, name]) => (
                  <tr>
                    <th scope="row">{name}</th>
                    <td class="n">{count(figures.against[key])}</td>
                    <td class="n">{count(figures.edition[key])}</td>
                    <td class="n">{signed(figures.edition[key] - figures.against[key])}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
        <LossReport c={c} report={report} />
      </div>
      <section aria-label="The views">
        <h3>
          The views: {many(viewLines.same, 'line')} the same, {count(viewLines.removed)} only of {otherSide},{' '}
          {count(viewLines.added)} only of the edition
        </h3>
        {view.length === 0 ? <p class="muted">They are the same.</p> : <SideBySide view={view} otherName={otherName} />}
      </section>
    </>
  )
}

/** Both views in columns where there is room, or else one below the other. */
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
