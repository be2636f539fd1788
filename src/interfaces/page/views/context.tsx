/**
 * A conversation at a revision: the chat, and the rail with what the model had. A long chat is loaded in parts: visible
 * parts have their messages, the others a placeholder.
 */
import { chatCalls } from '../reading/chat-calls.js'
import type { Child } from 'hono/jsx'
import { conversationLink, link } from '../links.js'
import type { ContextAsOf } from '../../../library/ledger.js'
import type { Step } from '../reading/step.js'
import { isInstructions, Messages, Part, PART_SIZE, type ContextFocus } from './chat.js'
import { Rail, RemovedParts } from './rail.js'
import { turnName } from './places.js'
import { count, many, plain, visible } from './text.js'

/** A last part with fewer messages is shown together with the previous part. */
const MIN_LAST_PART = 16

/** The part with the message; undefined if the newest messages are shown. */
function partOf(context: ContextAsOf, { m, part }: Pick<ContextFocus, 'm' | 'part'>): number | undefined {
  const last = Math.max(0, Math.ceil(context.messages.length / PART_SIZE) - 1)
  if (part !== undefined) return Math.min(part, last)
  const at = m === undefined ? -1 : context.messageIds.indexOf(m)
  if (at === -1) return undefined
  // A result is shown with its call, which may be in the part before.
  const call = chatCalls(context.messages).get(at)?.by
  return Math.floor((call ?? at) / PART_SIZE)
}

/** The maximum number of messages at the end of the chat, which begin with a message of the user. */
const MAX_NEWEST = 24
/** The newest messages if the last turn has more than `MAX_NEWEST`. */
const NEWEST_OF_TURN = 12
/** A shorter last turn is shown with the turn before it. */
const MIN_NEWEST = 4

/** The number of messages before the chat: instructions and summaries. */
function leadOf({ messages, viewAt, observed }: ContextAsOf): number {
  const isLead = (at: number): boolean => at === viewAt || observed?.summaries?.includes(at) === true
  const first = messages.findIndex((message, at) => !isInstructions(message) && !isLead(at))
  const last = messages.findLastIndex((_message, at) => isLead(at))
  return Math.max(first === -1 ? messages.length : first, last + 1)
}

/** The index of the first of the newest messages. */
function newestFrom(context: ContextAsOf, lead: number): number {
  const { messages } = context
  const end = messages.length
  if (end - lead <= MAX_NEWEST) return lead
  let from = end
  for (let at = end - 1; at >= Math.max(lead, end - MAX_NEWEST) && end - from < MIN_NEWEST; at -= 1)
    if (messages[at]?.role === 'user') from = at
  if (from < end) return from
  from = end - NEWEST_OF_TURN
  while (from > lead && messages[from]?.role === 'tool') from -= 1
  return from
}

/** The newest messages, with instructions and summaries before them and links to the earlier messages. */
function Newest({ step, context, focus }: { step: Step; context: ContextAsOf; focus: ContextFocus }): Child {
  const { conversationId: c, revision, change } = step
  const lead = leadOf(context)
  const from = newestFrom(context, lead)
  const end = context.messages.length
  const partLink = (part: number): string =>
    conversationLink({ c, at: revision, since: change?.since, q: focus.q, part })
  return (
    <div class="messages">
      <section class="part">
        <Messages step={step} from={0} to={lead} focus={focus} />
      </section>
      {from === lead ? null : (
        <p class="earlier">
          <span>{many(from - lead, 'earlier message')}</span>
          <a href={partLink(0)}>From the beginning</a>
          <a href={partLink(Math.floor((from - 1) / PART_SIZE))}>Previous messages</a>
        </p>
      )}
      <section class="part">
        <Messages step={step} from={from} to={end} focus={focus} />
      </section>
    </div>
  )
}

/** The parts of the chat: those near the part are shown. */
function Parts({
  step,
  context,
  focus,
  part,
}: {
  step: Step
  context: ContextAsOf
  focus: ContextFocus
  part: number
}): Child {
  const { conversationId: c, revision, change } = step
  // The last part may have only a few messages.
  const isShort = context.messages.length - part * PART_SIZE < MIN_LAST_PART
  const isNear = (each: number): boolean => each === part || (isShort && each === part - 1)
  return (
    <div class="messages" data-parts>
      {Array.from({ length: Math.ceil(context.messages.length / PART_SIZE) }, (_none, each) => {
        const from = each * PART_SIZE
        const to = Math.min(context.messages.length, from + PART_SIZE)
        const query = { c, at: revision, since: change?.since, part: each, m: focus.m, q: focus.q }
        return (
          <section
            class="part"
            data-part={link('/conversation/part', query)}
            data-lines={isNear(each) ? undefined : (to - from) * 3}
            data-sought={each === part && part > 0 && focus.m === undefined ? '' : undefined}
          >
            {isNear(each) ? (
              <Part step={step} part={each} focus={focus} />
            ) : (
              <a class="more" href={conversationLink(query)}>
                messages {count(from + 1)} to {count(to)}
              </a>
            )}
          </section>
        )
      })}
    </div>
  )
}

/** A conversation at a revision. */
export function StepView({ step, focus }: { step: Step; focus: ContextFocus }): Child {
  const { conversationId: c, context, refusal, revision, turn } = step
  const part = context === undefined ? undefined : partOf(context, focus)
  return (
    <div
      id="step"
      data-revision={String(revision)}
      data-turn={turn === undefined ? undefined : turnName(turn)}
      data-head={String(step.head)}
      data-messages={context?.messages.length}
    >
      <Rail step={step} q={focus.q} />
      <div class="chat">
        {context === undefined ? (
          <p class="note bad">{visible(refusal ?? 'There is no context.')}</p>
        ) : (
          <>
            <p class="in-print muted">
              Event {count(revision)} of {count(step.head)}. Full text of all {many(context.messages.length, 'message')}
              :{' '}
              <code>
                context-ledger context {plain(c)} --at {String(revision)}
              </code>
            </p>
            <RemovedParts step={step} />
            {part === undefined ? (
              <Newest step={step} context={context} focus={focus} />
            ) : (
              <Parts step={step} context={context} focus={focus} part={part} />
            )}
          </>
        )}
      </div>
    </div>
  )
}
