/**
 * A conversation at a revision: the chat, and the rail with what the model had. A long chat is loaded in parts: visible
 * parts have their messages, the others a placeholder.
 */
import type { Child } from 'hono/jsx'
import { conversationLink, link } from '../links.js'
import type { Words } from '../words.js'
import type { ContextAsOf } from '../../library/ledger.js'
import type { Step } from '../reading/step.js'
import { Part, PART_SIZE, type ContextFocus } from './chat.js'
import { Rail, RemovedParts } from './rail.js'
import { count, many, plain, visible } from './text.js'

/** A last part with fewer messages is shown together with the previous part. */
const MIN_LAST_PART = 16

/** The part with the message; default: the first part, which the browser shows first. */
function partOf(context: ContextAsOf, { m, part }: Pick<ContextFocus, 'm' | 'part'>): number {
  const last = Math.max(0, Math.ceil(context.messages.length / PART_SIZE) - 1)
  if (part !== undefined) return Math.min(part, last)
  const at = m === undefined ? -1 : context.messageIds.indexOf(m)
  if (at === -1) return 0
  // A result is shown with its call, which may be in the part before.
  const answered = context.messages[at]?.tool_call_id
  const call =
    answered === undefined
      ? -1
      : context.messages.findIndex(({ tool_calls: calls = [] }) => calls.some(({ id }) => id === answered))
  return Math.floor((call === -1 ? at : call) / PART_SIZE)
}

/** The parts of the chat. */
function Parts({ step, context, focus }: { step: Step; context: ContextAsOf; focus: ContextFocus }): Child {
  const { conversationId: c, revision, change } = step
  const part = partOf(context, focus)
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
export function StepView({ step, focus, words }: { step: Step; focus: ContextFocus; words: Words }): Child {
  const { conversationId: c, context, refusal, revision, turn } = step
  return (
    <div
      id="step"
      data-revision={String(revision)}
      data-turn={turn}
      data-head={String(step.head)}
      data-messages={context?.messages.length}
    >
      <Rail step={step} q={focus.q} words={words} />
      <div class="chat">
        {context === undefined ? (
          <p class="note bad">{visible(refusal ?? 'There is no context.')}</p>
        ) : (
          <>
            <p class="in-print muted">
              Revision {count(revision)} of {count(step.head)}. Full text of all{' '}
              {many(context.messages.length, 'message')}:{' '}
              <code>
                context-ledger context {plain(c)} --at {String(revision)}
              </code>
            </p>
            <RemovedParts step={step} />
            <Parts step={step} context={context} focus={focus} />
          </>
        )}
      </div>
    </div>
  )
}
