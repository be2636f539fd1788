/**
 * The context at a revision, message by message, with what changed in it marked. A long one comes in parts: the page
 * has those that are looked at, and a place for each of the others.
 */
import type { Child } from 'hono/jsx'
import { conversationLink, link } from '../links.js'
import type { Words } from '../words.js'
import type { ContextAsOf } from '../../library/ledger.js'
import type { Change, Step } from '../reading/step.js'
import { count, Lines, linesOf, many, markedWords, Name, oneLine, plain, seen, Time } from './text.js'

/** Messages of a part. */
const PART = 40
/** A last part that has fewer is shown with the one before it. */
const FEW = 16

/** What of a context is shown, and what is looked for in it. */
export interface Shown {
  /** The message that is looked for. */
  readonly m: string | undefined
  /** Words that are marked. */
  readonly q: string | undefined
  readonly part: number | undefined
}

/** The part that has a message; the last one where none is looked for. */
function partOf(context: ContextAsOf, { m, part }: Pick<Shown, 'm' | 'part'>): number {
  const last = Math.max(0, Math.ceil(context.messages.length / PART) - 1)
  if (part !== undefined) return Math.min(part, last)
  const at = m === undefined ? -1 : context.messageIds.indexOf(m)
  return at === -1 ? last : Math.floor(at / PART)
}

const newLines = (change: Change | undefined): ReadonlySet<string> =>
  new Set(
    (change?.view ?? []).flatMap(({ kind, text }) => (kind === 'added' ? text.replace(/\n$/u, '').split('\n') : [])),
  )

/** Where a message's whole text is. */
const wholeLink = (step: Step, at: number): string =>
  link('/message', { c: step.conversationId, at: step.revision, i: at })

function Message({
  step,
  at,
  shown,
  words,
  added,
}: {
  step: Step & { context: ContextAsOf }
  at: number
  shown: Shown
  words: RegExp | undefined
  added: ReadonlySet<string>
}): Child {
  const { context, change, live, conversationId: c, revision } = step
  const message = context.messages[at]
  if (message === undefined) return null
  const id = context.messageIds[at]
  const isView = at === context.viewAt
  const recorded = id === undefined ? undefined : live.get(id)
  const isNew = id !== undefined && change?.came.has(id) === true
  const isFirstNew = isNew && id === firstNew(step)
  const less = id === undefined ? undefined : context.shortened?.find((each) => each.id === id)
  const name = isView ? 'What was compacted' : (id ?? 'shown only, not recorded')
  return (
    <article
      class={`msg ${message.role}${isView ? ' view' : ''}${isNew ? ' came' : ''}${id !== undefined && id === shown.m ? ' sought' : ''}`}
      tabindex={-1}
      id={isFirstNew ? 'new' : undefined}
      aria-label={plain(`${message.role}: ${oneLine(name, 60)}`)}
      data-i={at}
    >
      <header>
        <b class="role">{message.role}</b>
        {message.name === undefined ? null : <Name text={message.name} most={40} />}
        <span class="id">{isView ? name : <Name text={name} most={60} />}</span>
        {message.tool_call_id === undefined ? null : (
          <span class="id">
            answers <Name text={message.tool_call_id} most={40} />
          </span>
        )}
        {isNew ? <span class="tag new">new</span> : null}
        {isView && (change?.view.length ?? 0) > 0 ? <span class="tag new">changed</span> : null}
        {recorded?.pinned === true ? <span class="tag">pinned</span> : null}
        {less === undefined ? null : <span class="tag warn">{less.how}</span>}
        <span class="facts">
          {recorded === undefined ? null : (
            <>
              <a href={conversationLink({ c, at: recorded.revision })}>revision {count(recorded.revision)}</a>
              {' · '}
              {many(recorded.tokens, 'token')}
              {' · '}
              <Time at={recorded.createdAt} />
            </>
          )}
        </span>
      </header>
      <Lines
        lines={linesOf(message)}
        words={words}
        hrefOf={(line) => conversationLink({ c, at: revision, why: `${String(at)}.${String(line)}` })}
        more={wholeLink(step, at)}
        changes={isView ? added : undefined}
      />
    </article>
  )
}

/** The first message of a context that is new in it. */
const firstNew = ({ context, change }: Step): string | undefined =>
  change === undefined || change.came.size === 0
    ? undefined
    : context?.messageIds.find((id) => id !== undefined && change.came.has(id))

/** The messages of one part. */
export function Part({ step, part, shown }: { step: Step; part: number; shown: Shown }): Child {
  const { context } = step
  if (context === undefined) return null
  const words = markedWords(shown.q)
  const added = newLines(step.change)
  const from = part * PART
  const to = Math.min(context.messages.length, from + PART)
  return (
    <>
      {Array.from({ length: Math.max(0, to - from) }, (_none, at) => (
        <Message step={{ ...step, context }} at={from + at} shown={shown} words={words} added={added} />
      ))}
    </>
  )
}

/** What left, and what of the view is not said any more. */
function Left({ step }: { step: Step }): Child {
  const { change, conversationId: c } = step
  if (change === undefined) return null
  const removed = change.view.filter(({ kind }) => kind === 'removed').flatMap(({ text }) => text.trimEnd().split('\n'))
  if (change.left.length === 0 && removed.length === 0) return null
  const [first] = change.left
  const last = change.left.at(-1)
  return (
    <details class="left">
      <summary>
        {change.left.length === 0 ? null : (
          <>
            {many(change.left.length, 'message')} left since revision {count(change.since)}
            {first === undefined ? null : (
              <>
                : <Name text={first.messageId} most={30} />
                {last === undefined || last === first ? null : (
                  <>
                    {' to '}
                    <Name text={last.messageId} most={30} />
                  </>
                )}
              </>
            )}
          </>
        )}
        {change.left.length > 0 && removed.length > 0 ? '; ' : null}
        {removed.length === 0 ? null : `${many(removed.length, 'line')} of the view gone`}
      </summary>
      {change.left.length === 0 ? null : (
        <ul class="ids">
          {change.left.slice(0, 400).map(({ messageId, batchId }) => (
            <li>
              <a href={conversationLink({ c, at: change.since, m: messageId })}>
                <Name text={messageId} most={40} />
              </a>
              {batchId === undefined ? null : (
                <>
                  {' in '}
                  <a href={link('/explain', { c, batch: batchId })}>{batchId.slice(0, 12)}</a>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      {removed.length === 0 ? null : (
        <div class="text gone">
          {removed.slice(0, 80).map((line) => (
            <span class="ln">{line === '' ? '\u00a0' : seen(line.slice(0, 1_500))}</span>
          ))}
        </div>
      )}
    </details>
  )
}

/** What a reader has to know of a context beside its messages. */
function Notes({ context, words }: { context: ContextAsOf; words: Words }): Child {
  return (
    <>
      {words.contextNotes(context).map((sentence) => (
        <p class="note warn">{seen(sentence)}</p>
      ))}
    </>
  )
}

/** How large a context is, and what tells it from any other. */
export function ContextFigures({
  context,
  whole = false,
  children,
}: {
  context: ContextAsOf
  /** The whole hash, and not its beginning. */
  whole?: boolean
  children?: Child
}): Child {
  return (
    <p class="figures">
      <span>
        <b>{count(context.messages.length)}</b> messages
      </span>
      <span>
        <b>{count(context.tokens)}</b> tokens
      </span>
      {children}
      <span class="hash" title="SHA-256 of the messages as they are sent">
        SHA-256 <code>{whole ? context.hash : `${context.hash.slice(0, 16)}…`}</code>
      </span>
    </p>
  )
}

/** A conversation at a revision: what the fact there says, figures, and the context. */
export function StepView({ step, shown, words }: { step: Step; shown: Shown; words: Words }): Child {
  const { conversationId: c, context, refusal, revision, event, change } = step
  const part = context === undefined ? 0 : partOf(context, shown)
  const parts = context === undefined ? 0 : Math.ceil(context.messages.length / PART)
  const newQuery = { c, at: revision, since: change?.since, q: shown.q }
  // The last part may have a few messages alone.
  const isShort = context !== undefined && context.messages.length - part * PART < FEW
  const near = (each: number): boolean => each === part || (isShort && each === part - 1)
  return (
    <div
      id="step"
      data-revision={String(revision)}
      data-head={String(step.head)}
      data-messages={context?.messages.length}
    >
      <p class="fact">
        <b>{event?.type ?? ''}</b> {event === undefined ? null : seen(words.describeEvent(event))}
        <span class="facts">
          {' '}
          <Time at={event?.metadata.recordedAt} /> by <Name text={event?.metadata.actor ?? ''} most={40} />
        </span>
      </p>
      {context === undefined ? (
        <p class="note bad">{seen(refusal ?? 'there is no context')}</p>
      ) : (
        <>
          <ContextFigures context={context}>
            {change === undefined ? null : (
              <span>
                since revision {count(change.since)}:{' '}
                {change.came.size === 0 ? (
                  <b>+0</b>
                ) : (
                  <a class="plus" href={link('/conversation', { ...newQuery, m: firstNew(step) })} data-new>
                    <b class="plus">+{count(change.came.size)}</b>
                  </a>
                )}{' '}
                <b class="minus">−{count(change.left.length)}</b>
              </span>
            )}
          </ContextFigures>
          <p class="in-print muted">
            Revision {count(revision)} of {count(step.head)}. All of its {many(context.messages.length, 'message')},
            whole:{' '}
            <code>
              context-ledger context {plain(c)} --at {String(revision)}
            </code>
          </p>
          <Notes context={context} words={words} />
          <Left step={step} />
          <div class="messages" data-parts>
            {Array.from({ length: parts }, (_none, each) => {
              const from = each * PART
              const to = Math.min(context.messages.length, from + PART)
              const query = { c, at: revision, since: change?.since, part: each, m: shown.m, q: shown.q }
              return (
                <section
                  class="part"
                  data-part={link('/conversation/part', query)}
                  data-lines={near(each) ? undefined : (to - from) * 3}
                >
                  {near(each) ? (
                    <Part step={step} part={each} shown={shown} />
                  ) : (
                    <a class="more" href={conversationLink({ ...query })}>
                      messages {count(from + 1)} to {count(to)}
                    </a>
                  )}
                </section>
              )
            })}
          </div>
        </>
      )}
    </div>
  )
}

/** Characters of a message that one page shows. */
const SLICE = 40_000

/** The lines that a slice of a text has a part of, each with its place. */
function linesWithin(
  lines: readonly string[],
  from: number,
  to: number,
): { readonly at: number; readonly text: string }[] {
  const found: { readonly at: number; readonly text: string }[] = []
  let offset = 0
  for (const [at, line] of lines.entries()) {
    if (offset < to && offset + line.length >= from)
      found.push({ at, text: line.slice(Math.max(0, from - offset), to - offset) })
    offset += line.length + 1
  }
  return found
}

/** One message whole, in slices where it is long; each line leads to where it comes from. */
export function WholeMessage({ step, at, from }: { step: Step; at: number; from: number }): Child {
  const message = step.context?.messages[at]
  if (message === undefined) return <p class="empty">There is no such message in the context of this revision.</p>
  const { conversationId: c, revision } = step
  const lines = linesOf(message)
  const characters = lines.reduce((sum, line) => sum + line.length + 1, -1)
  const whereOf = (offset: number): string => link('/message', { c, at: revision, i: at, from: offset })
  const id = step.context?.messageIds[at]
  return (
    <>
      <h2>
        <span class="role">{message.role}</span>{' '}
        <Name text={at === step.context?.viewAt ? 'What was compacted' : (id ?? 'shown only')} />
      </h2>
      <p class="figures">
        <a href={conversationLink({ c, at: revision, m: id })}>in the context at revision {count(revision)}</a>
        <span>{many(Math.max(0, characters), 'character')}</span>
        {characters <= SLICE ? null : (
          <span>
            {count(from + 1)} to {count(Math.min(characters, from + SLICE))}
          </span>
        )}
        {from > 0 ? <a href={whereOf(Math.max(0, from - SLICE))}>previous</a> : null}
        {from + SLICE < characters ? <a href={whereOf(from + SLICE)}>next</a> : null}
      </p>
      <div class="text whole">
        {linesWithin(lines, from, from + SLICE).map(({ at: line, text }) =>
          text.trim() === '' ? (
            <span class="ln">{'\u00a0'}</span>
          ) : (
            <a
              class="ln"
              href={conversationLink({ c, at: revision, why: `${String(at)}.${String(line)}` })}
              tabindex={-1}
            >
              {seen(text)}
            </a>
          ),
        )}
      </div>
    </>
  )
}

/** A line of a context, by the places of its message and of the line; undefined where there is none. */
export function lineAt(step: Step, why: string): string | undefined {
  const [, message, line] = /^(\d{1,7})\.(\d{1,7})$/u.exec(why) ?? []
  const found = step.context?.messages[Number(message)]
  if (message === undefined || line === undefined || found === undefined) return undefined
  const text = linesOf(found)[Number(line)]
  return text === undefined || text.trim() === '' ? undefined : text.slice(0, 2_000)
}
