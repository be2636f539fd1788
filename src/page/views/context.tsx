/**
 * The context at a revision, message by message, with changes marked. A long context is loaded in parts: visible parts
 * have their messages, the others a placeholder.
 */
import type { Child } from 'hono/jsx'
import { conversationLink, link } from '../links.js'
import type { Words } from '../words.js'
import type { ContextAsOf } from '../../library/ledger.js'
import type { Change, Step } from '../reading/step.js'
import { count, Lines, linesOf, many, markedWords, Name, oneLine, plain, visible, Time } from './text.js'

/** Messages per part. */
const PART_SIZE = 40
/** A last part with fewer messages is shown together with the previous part. */
const MIN_LAST_PART = 16

/** What to highlight and show in a context. */
export interface ContextFocus {
  /** Id of the message to highlight. */
  readonly m: string | undefined
  /** Words to highlight. */
  readonly q: string | undefined
  readonly part: number | undefined
}

/** The part with the message; default: the last part. */
function partOf(context: ContextAsOf, { m, part }: Pick<ContextFocus, 'm' | 'part'>): number {
  const last = Math.max(0, Math.ceil(context.messages.length / PART_SIZE) - 1)
  if (part !== undefined) return Math.min(part, last)
  const at = m === undefined ? -1 : context.messageIds.indexOf(m)
  return at === -1 ? last : Math.floor(at / PART_SIZE)
}

const newLines = (change: Change | undefined): ReadonlySet<string> =>
  new Set(
    (change?.view ?? []).flatMap(({ kind, text }) => (kind === 'added' ? text.replace(/\n$/u, '').split('\n') : [])),
  )

/** The link to the full text of a message. */
const fullTextLink = (step: Step, at: number): string =>
  link('/message', { c: step.conversationId, at: step.revision, i: at })

function Message({
  step,
  at,
  focus,
  words,
  added,
}: {
  step: Step & { context: ContextAsOf }
  at: number
  focus: ContextFocus
  words: RegExp | undefined
  added: ReadonlySet<string>
}): Child {
  const { context, change, live, conversationId: c, revision } = step
  const message = context.messages[at]
  if (message === undefined) return null
  const id = context.messageIds[at]
  const isView = at === context.viewAt
  const recorded = id === undefined ? undefined : live.get(id)
  const isNew = id !== undefined && change?.added.has(id) === true
  const isFirstNew = isNew && id === firstNew(step)
  const shortening = id === undefined ? undefined : context.shortened?.find((each) => each.id === id)
  const name = nameOf(isView, id, 'not recorded')
  return (
    <article
      class={`msg ${message.role}${isView ? ' view' : ''}${isNew ? ' added' : ''}${id !== undefined && id === focus.m ? ' sought' : ''}`}
      tabindex={-1}
      id={isFirstNew ? 'new' : undefined}
      aria-label={plain(`${message.role}: ${oneLine(name, 60)}`)}
      data-i={at}
    >
      <header>
        <b class="role">{message.role}</b>
        {message.name === undefined ? null : <Name text={message.name} most={40} />}
        <span class="id">{id === undefined ? name : <Name text={name} most={60} />}</span>
        {message.tool_call_id === undefined ? null : (
          <span class="id">
            answers <Name text={message.tool_call_id} most={40} />
          </span>
        )}
        {isNew ? <span class="tag new">new</span> : null}
        {isView && (change?.view.length ?? 0) > 0 ? <span class="tag new">changed</span> : null}
        {recorded?.pinned === true ? <span class="tag">pinned</span> : null}
        {shortening === undefined ? null : <span class="tag warn">{shortening.how}</span>}
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
        more={fullTextLink(step, at)}
        changes={isView ? added : undefined}
      />
    </article>
  )
}

/** The label of a message: its id, and whether it contains the view. */
export const nameOf = (isView: boolean, id: string | undefined, without: string): string =>
  isView ? (id === undefined ? 'Compacted part' : `${id}, with the compacted part`) : (id ?? without)

/** Id of the first new message. */
const firstNew = ({ context, change }: Step): string | undefined =>
  change === undefined || change.added.size === 0
    ? undefined
    : context?.messageIds.find((id) => id !== undefined && change.added.has(id))

/** The messages of one part. */
export function Part({ step, part, focus }: { step: Step; part: number; focus: ContextFocus }): Child {
  const { context } = step
  if (context === undefined) return null
  const words = markedWords(focus.q)
  const added = newLines(step.change)
  const from = part * PART_SIZE
  const to = Math.min(context.messages.length, from + PART_SIZE)
  return (
    <>
      {Array.from({ length: Math.max(0, to - from) }, (_none, at) => (
        <Message step={{ ...step, context }} at={from + at} focus={focus} words={words} added={added} />
      ))}
    </>
  )
}

/** Removed messages and removed lines of the view. */
function RemovedParts({ step }: { step: Step }): Child {
  const { change, conversationId: c } = step
  if (change === undefined) return null
  const removedLines = change.view
    .filter(({ kind }) => kind === 'removed')
    .flatMap(({ text }) => text.trimEnd().split('\n'))
  if (change.removed.length === 0 && removedLines.length === 0) return null
  const [first] = change.removed
  const last = change.removed.at(-1)
  return (
    <details class="removed-parts">
      <summary>
        {change.removed.length === 0 ? null : (
          <>
            {many(change.removed.length, 'message')} removed since revision {count(change.since)}
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
        {change.removed.length > 0 && removedLines.length > 0 ? '; ' : null}
        {removedLines.length === 0 ? null : `${many(removedLines.length, 'line')} of the view removed`}
      </summary>
      {change.removed.length === 0 ? null : (
        <ul class="ids">
          {change.removed.slice(0, 400).map(({ messageId, batchId }) => (
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
      {removedLines.length === 0 ? null : (
        <div class="text removed">
          {removedLines.slice(0, 80).map((line) => (
            <span class="ln">{line === '' ? '\u00a0' : visible(line.slice(0, 1_500))}</span>
          ))}
        </div>
      )}
    </details>
  )
}

/** Notes about a context. */
function Notes({ context, words }: { context: ContextAsOf; words: Words }): Child {
  return (
    <>
      {words.contextNotes(context).map((sentence) => (
        <p class="note warn">{visible(sentence)}</p>
      ))}
    </>
  )
}

/** Size and hash of a context. */
export function ContextFigures({
  context,
  whole = false,
  children,
}: {
  context: ContextAsOf
  /** Show the full hash. */
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

/** A conversation at a revision: the event, figures and the context. */
export function StepView({ step, focus, words }: { step: Step; focus: ContextFocus; words: Words }): Child {
  const { conversationId: c, context, refusal, revision, event, change } = step
  const part = context === undefined ? 0 : partOf(context, focus)
  const parts = context === undefined ? 0 : Math.ceil(context.messages.length / PART_SIZE)
  const newQuery = { c, at: revision, since: change?.since, q: focus.q }
  // The last part may have only a few messages.
  const isShort = context !== undefined && context.messages.length - part * PART_SIZE < MIN_LAST_PART
  const near = (each: number): boolean => each === part || (isShort && each === part - 1)
  return (
    <div
      id="step"
      data-revision={String(revision)}
      data-head={String(step.head)}
      data-messages={context?.messages.length}
    >
      <p class="fact">
        <b>{event?.type ?? ''}</b> {event === undefined ? null : visible(words.describeEvent(event))}
        <span class="facts">
          {' '}
          <Time at={event?.metadata.recordedAt} /> by <Name text={event?.metadata.actor ?? ''} most={40} />
        </span>
      </p>
      {context === undefined ? (
        <p class="note bad">{visible(refusal ?? 'There is no context.')}</p>
      ) : (
        <>
          <ContextFigures context={context}>
            {change === undefined ? null : (
              <span>
                since revision {count(change.since)}:{' '}
                {change.added.size === 0 ? (
                  <b>+0</b>
                ) : (
                  <a class="plus" href={link('/conversation', { ...newQuery, m: firstNew(step) })} data-new>
                    <b class="plus">+{count(change.added.size)}</b>
                  </a>
                )}{' '}
                <b class="minus">−{count(change.removed.length)}</b>
              </span>
            )}
          </ContextFigures>
          <p class="in-print muted">
            Revision {count(revision)} of {count(step.head)}. Full text of all{' '}
            {many(context.messages.length, 'message')}:{' '}
            <code>
              context-ledger context {plain(c)} --at {String(revision)}
            </code>
          </p>
          <Notes context={context} words={words} />
          <RemovedParts step={step} />
          <div class="messages" data-parts>
            {Array.from({ length: parts }, (_none, each) => {
              const from = each * PART_SIZE
              const to = Math.min(context.messages.length, from + PART_SIZE)
              const query = { c, at: revision, since: change?.since, part: each, m: focus.m, q: focus.q }
              return (
                <section
                  class="part"
                  data-part={link('/conversation/part', query)}
                  data-lines={near(each) ? undefined : (to - from) * 3}
                >
                  {near(each) ? (
                    <Part step={step} part={each} focus={focus} />
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

/** Maximum characters of a message on one page. */
const SLICE = 40_000

/** The lines in a slice of a text, with their indexes. */
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

/** The full text of a message, in slices if it is long. Each line links to its sources. */
export function FullMessage({ step, at, from }: { step: Step; at: number; from: number }): Child {
  const message = step.context?.messages[at]
  if (message === undefined) return <p class="empty">There is no such message in the context of this revision.</p>
  const { conversationId: c, revision } = step
  const lines = linesOf(message)
  const characters = lines.reduce((sum, line) => sum + line.length + 1, -1)
  const sliceLink = (offset: number): string => link('/message', { c, at: revision, i: at, from: offset })
  const id = step.context?.messageIds[at]
  return (
    <>
      <h2>
        <span class="role">{message.role}</span> <Name text={nameOf(at === step.context?.viewAt, id, 'not recorded')} />
      </h2>
      <p class="figures">
        <a href={conversationLink({ c, at: revision, m: id })}>in the context at revision {count(revision)}</a>
        <span>{many(Math.max(0, characters), 'character')}</span>
        {characters <= SLICE ? null : (
          <span>
            {count(from + 1)} to {count(Math.min(characters, from + SLICE))}
          </span>
        )}
        {from > 0 ? <a href={sliceLink(Math.max(0, from - SLICE))}>previous</a> : null}
        {from + SLICE < characters ? <a href={sliceLink(from + SLICE)}>next</a> : null}
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
              {visible(text)}
            </a>
          ),
        )}
      </div>
    </>
  )
}

/** A line of a context by message index and line index; undefined if it does not exist. */
export function lineAt(step: Step, why: string): string | undefined {
  const [, message, line] = /^(\d{1,7})\.(\d{1,7})$/u.exec(why) ?? []
  const found = step.context?.messages[Number(message)]
  if (message === undefined || line === undefined || found === undefined) return undefined
  const text = linesOf(found)[Number(line)]
  return text === undefined || text.trim() === '' ? undefined : text.slice(0, 2_000)
}
