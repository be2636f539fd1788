/** The timeline of a conversation: the plot, a slider over its revisions, and the context at the selected revision. */
import type { Child } from 'hono/jsx'
import type { SearchHit } from '../../../library/ledger.js'
import { conversationLink, link } from '../links.js'
import type { Hits } from '../reading/search-hits.js'
import type { Step } from '../reading/step.js'
import { ROLES, type ContextFocus } from './chat.js'
import { StepView } from './context.js'
import { turnName } from './places.js'
import { count, excerpt, many, Marked, markedWords, oneLine, Time, visible } from './text.js'

/** The link of a hit: the context after its message, or its batch. */
const hitLink = (hit: SearchHit, query: string): string =>
  hit.kind === 'batch' && hit.batchId !== null
    ? link('/explain', { c: hit.conversationId, batch: hit.batchId, q: query })
    : conversationLink({ c: hit.conversationId, at: hit.firstRevision, m: hit.messageIds[0], q: query })

/** Who said it: "User", "Tool bash", or "Summary of 12 messages". */
const speakerOf = ({ role, messageIds }: SearchHit, tool: string | undefined): string =>
  role === undefined
    ? `Summary of ${many(messageIds.length, 'message')}`
    : `${ROLES[role]}${tool === undefined ? '' : ` ${tool}`}`

function HitItems({ hits, found: { query, tools } }: { hits: readonly SearchHit[]; found: Hits }): Child {
  const words = markedWords(query)
  return (
    <ol class="hits">
      {hits.map((hit) => (
        <li>
          <a href={hitLink(hit, query)} data-hit data-revision={String(hit.firstRevision)}>
            {visible(speakerOf(hit, tools.get(hit)))}
          </a>{' '}
          <span class="facts">
            <Time at={hit.startTime} isShort />
            {hit.kind === 'message' && hit.batchId !== null ? ' · compacted since then' : null}
          </span>
          <p>
            <Marked text={excerpt(hit.text, words, 320)} words={words} />
          </p>
        </li>
      ))}
    </ol>
  )
}

/** Search hits with links. Calls and results of tools are folded, unless there is nothing else. */
export function HitList({ found }: { found: Hits }): Child {
  const { said, results } = found
  if (said.length + results.length === 0) return <p class="empty">Nothing found.</p>
  return (
    <>
      {said.length === 0 ? null : <HitItems hits={said} found={found} />}
      {results.length === 0 ? null : (
        <details class="results" open={said.length === 0}>
          <summary>Tool calls and results ({count(results.length)})</summary>
          <HitItems hits={results} found={found} />
        </details>
      )}
    </>
  )
}

/** The controls of the chart: play, one revision back or on, and a slider. */
function Slider({ step, q }: { step: Step; q: string | undefined }): Child {
  const { conversationId: c, revision, head, turn } = step
  const stepTo = (to: number): string => conversationLink({ c, at: to, since: revision, q })
  return (
    <form class="slider" action="/conversation">
      <input type="hidden" name="c" value={c} />
      {q === undefined ? null : <input type="hidden" name="q" value={q} />}
      <button type="button" id="play" class="needs-script" aria-pressed="false">
        Play
      </button>
      <a class="step" id="back" href={revision > 0 ? stepTo(revision - 1) : undefined} aria-label="Previous event">
        ←
      </a>
      <input
        type="range"
        id="revision"
        name="at"
        min="0"
        max={String(head)}
        value={String(revision)}
        aria-label="Event"
      />
      <a class="step" id="on" href={revision < head ? stepTo(revision + 1) : undefined} aria-label="Next event">
        →
      </a>
      <output id="at" for="revision">
        {turn === undefined ? null : `${turnName(turn)}, `}event {count(revision)} of {count(head)}
      </output>
      <button type="submit" class="without-script">
        Go
      </button>
    </form>
  )
}

/** The conversation: its chart, and the chat and the rail at a revision. */
export function Conversation({
  step,
  focus,
  hits,
  drawer,
}: {
  step: Step
  focus: ContextFocus
  hits: Hits | undefined
  /** The explanation of a line, if one is selected. */
  drawer: Child
}): Child {
  const { conversationId: c, revision } = step
  const course = link('/course', {
    c,
    hits:
      hits === undefined
        ? undefined
        : [...hits.said, ...hits.results].map(({ firstRevision }) => String(firstRevision)).join(' '),
  })
  return (
    <>
      <section class="course card" aria-label="Tokens over turns">
        <div id="plot" data-url={course}>
          <noscript>
            <a href={course}>Show the chart</a>
          </noscript>
        </div>
        <p class="tip" id="tip" aria-hidden="true"></p>
      </section>
      <Slider step={step} q={focus.q} />
      <div class={`split${hits === undefined ? '' : ' with-hits'}`}>
        {hits === undefined ? null : (
          <section class="found" aria-label="Hits">
            <h2>
              {many(hits.said.length + hits.results.length, 'hit')} for <q>{oneLine(hits.query, 60)}</q>
            </h2>
            <HitList found={hits} />
            <p>
              <a href={conversationLink({ c, at: revision })}>clear search</a>,{' '}
              <a href={link('/search', { q: hits.query })}>search all conversations</a>
            </p>
          </section>
        )}
        <section class="context" aria-label="Chat">
          <StepView step={step} focus={focus} />
        </section>
        <aside id="drawer" aria-label="Sources" tabindex={-1} hidden={drawer === null}>
          <a class="close" href={conversationLink({ c, at: revision, q: focus.q })}>
            Close
          </a>
          <div id="drawer-content">{drawer}</div>
        </aside>
      </div>
    </>
  )
}
