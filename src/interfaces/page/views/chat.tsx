/**
 * The messages of a context as a chat: Markdown, images, and each tool call with its result in one line that folds out.
 */
import type { Child } from 'hono/jsx'
import type { ChatMessage, ContextAsOf } from '../../../library/ledger.js'
import { chatCalls } from '../reading/chat-calls.js'
import { contentText, isTextPart, type ToolCall } from '../../../domain/values/message.js'
import type { CallResult } from '../reading/tool-summary.js'
import { isThought, thoughtsIn } from '../reading/thoughts.js'
import { conversationLink, link } from '../links.js'
import { imagesOf } from '../reading/images.js'
import type { Change, Step } from '../reading/step.js'
import { Lines } from './lines.js'
import { Prose } from './prose.js'
import { SummaryCard } from './summary-card.js'
import { ToolCallView, ToolResult } from './tool-call.js'
import { count, linesOf, many, markedWords, Name, oneLine, plain, Time, visible } from './text.js'

/** Messages per part. */
export const PART_SIZE = 40

/** The message, the words and the part to highlight or show. */
export interface ContextFocus {
  /** Id of the message to highlight. */
  readonly m: string | undefined
  /** Words to highlight. */
  readonly q: string | undefined
  readonly part: number | undefined
  /** The line whose sources are shown, as message index and line index. */
  readonly why?: string | undefined
}

/** The roles, for people. */
export const ROLES: Readonly<Record<ChatMessage['role'], string>> = {
  user: 'User',
  assistant: 'Assistant',
  tool: 'Tool',
  system: 'Instructions',
  developer: 'Instructions',
}
/** Longer instructions are folded. */
const MAX_INSTRUCTIONS = 600

/** Shared properties of the messages of a part. */
interface Chat {
  readonly step: Step & { readonly context: ContextAsOf }
  readonly focus: ContextFocus
  readonly words: RegExp | undefined
  /** New lines of the summary. */
  readonly added: ReadonlySet<string>
  /** False in a report file, which has no links to the page and no images. */
  readonly linked: boolean
}

/** The label of a message: its id, and whether it contains the summary. */
export const nameOf = (isView: boolean, id: string | undefined, without: string): string =>
  isView ? (id === undefined ? SUMMARY : `${id}, with the summary`) : (id ?? without)
export const SUMMARY = 'Summary of the earlier messages'

/** Id of the first new message. */
export const firstNew = ({ context, change }: Step): string | undefined =>
  change === undefined || change.added.size === 0
    ? undefined
    : context?.messageIds.find((id) => id !== undefined && change.added.has(id))

const newLines = (change: Change | undefined): ReadonlySet<string> =>
  new Set(
    (change?.view ?? []).flatMap(({ kind, text }) => (kind === 'added' ? text.replace(/\n$/u, '').split('\n') : [])),
  )

/** The results of calls: the index of the message by the call, and the indexes of all of them. */
interface Results {
  readonly byCall: ReadonlyMap<ToolCall, number>
  readonly indexes: ReadonlySet<number>
}
const resultsOfContexts = new WeakMap<ContextAsOf, Results>()

/** The results that follow their calls. A result without its call is a message of its own. */
function resultsOf(context: ContextAsOf): Results {
  const known = resultsOfContexts.get(context)
  if (known !== undefined) return known
  const byCall = new Map<ToolCall, number>()
  for (const [at, { call, isFurther }] of chatCalls(context.messages)) if (!isFurther) byCall.set(call, at)
  const results = { byCall, indexes: new Set(byCall.values()) }
  resultsOfContexts.set(context, results)
  return results
}

/** Whether a message has instructions for the model. */
export const isInstructions = ({ role }: ChatMessage): boolean => role === 'system' || role === 'developer'

/** The parts of a message that are text. Images are shown, and thoughts are folded. */
const textOf = ({ content }: ChatMessage): string =>
  typeof content === 'string' || content === null || content === undefined
    ? (content ?? '')
    : contentText(content.filter((part) => isTextPart(part) || !(isThought(part) || /image/u.test(part.type))))

function Pictures({ chat: { step, linked }, at }: { chat: Chat; at: number }): Child {
  const message = step.context.messages[at]
  const images = message === undefined ? [] : imagesOf(message)
  if (!linked) return images.length === 0 ? null : <p class="muted">{many(images.length, 'image')} in the ledger</p>
  return (
    <>
      {images.map((_image, n) => (
        <img
          class="picture"
          src={link('/image', { c: step.conversationId, at: step.revision, i: at, n })}
          alt={`Image ${count(n + 1)} of the message`}
          loading="lazy"
        />
      ))}
    </>
  )
}

/** A call; its result is inside it. */
function Call({ chat, call }: { chat: Chat; call: ToolCall }): Child {
  const { step, focus } = chat
  const { context } = step
  const at = resultsOf(context).byCall.get(call)
  const message = at === undefined ? undefined : context.messages[at]
  const id = at === undefined ? undefined : context.messageIds[at]
  const attributes = id === undefined ? undefined : step.live.get(id)?.attributes
  const result: CallResult | undefined =
    message === undefined ? undefined : { text: contentText(message.content), attributes: attributes ?? {} }
  return (
    <ToolCallView call={call} result={result} isOpen={id !== undefined && id === focus.m}>
      {at === undefined ? null : <Message chat={chat} at={at} />}
    </ToolCallView>
  )
}

/** Instructions, folded if they are long. */
function Instructions({ chat, at, text }: { chat: Chat; at: number; text: string }): Child {
  const { step, words, focus } = chat
  const prose = <Prose text={text} words={words} more={moreOf(chat, at)} />
  if (text.length <= MAX_INSTRUCTIONS && at !== step.context.viewAt) return prose
  const id = step.context.messageIds[at]
  return (
    <details
      class="call"
      open={(words !== undefined && text.search(words) !== -1) || (id !== undefined && id === focus.m)}
    >
      <summary>{visible(oneLine(text, 120))}</summary>
      <div class="inside">{prose}</div>
    </details>
  )
}

/** The summary that the ledger shows: each line is a link to its sources. The message may begin with instructions. */
function OwnSummary({ chat, at }: { chat: Chat; at: number }): Child {
  const { step, words, added, focus, linked } = chat
  const { context, conversationId: c, revision, change } = step
  const message = context.messages[at]
  if (message === undefined) return null
  const offset = context.viewOffset ?? 0
  const instructions = contentText(message.content).slice(0, offset).trimEnd()
  const text = contentText(message.content).slice(offset)
  const first =
    contentText(message.content)
      .slice(0, offset)
      .split(/\r\n|\n|\r/u).length - 1
  const isChanged = (change?.view.length ?? 0) > 0
  const isOpen =
    isChanged || focus.why?.startsWith(`${String(at)}.`) === true || (words !== undefined && text.search(words) !== -1)
  return (
    <>
      {instructions === '' ? null : <Instructions chat={chat} at={at} text={instructions} />}
      <SummaryCard
        title={SUMMARY}
        text={text}
        isOpen={isOpen}
        tags={isChanged ? <span class="tag new">changed</span> : null}
      >
        <Lines
          lines={linesOf(message).slice(first)}
          words={words}
          hrefOf={
            linked
              ? (line) => conversationLink({ c, at: revision, why: `${String(at)}.${String(line + first)}` })
              : undefined
          }
          more={moreOf(chat, at)}
          changes={added}
          isMarkdown
        />
      </SummaryCard>
    </>
  )
}

/** The summary that another program inserted. */
function ProgramSummary({ chat, at }: { chat: Chat; at: number }): Child {
  const { step, words, focus } = chat
  const { context } = step
  const message = context.messages[at]
  if (message === undefined) return null
  const text = textOf(message)
  const id = context.messageIds[at]
  return (
    <SummaryCard
      title={`Summary by ${context.observed?.program ?? 'the program'}`}
      text={text}
      isOpen={(words !== undefined && text.search(words) !== -1) || (id !== undefined && id === focus.m)}
    >
      <Prose text={text} words={words} more={moreOf(chat, at)} />
    </SummaryCard>
  )
}

/** The address of a message in full; undefined in a report file. */
const moreOf = ({ step, linked }: Chat, at: number): string | undefined =>
  linked ? link('/message', { c: step.conversationId, at: step.revision, i: at }) : undefined

const isProgramSummary = ({ observed }: ContextAsOf, at: number): boolean => observed?.summaries?.includes(at) === true

/** The content of a message, by its role. */
function Content({ chat, at }: { chat: Chat; at: number }): Child {
  const { step, words } = chat
  const { context } = step
  const message = context.messages[at]
  if (message === undefined) return null
  const more = moreOf(chat, at)
  if (at === context.viewAt) return <OwnSummary chat={chat} at={at} />
  if (isProgramSummary(context, at)) return <ProgramSummary chat={chat} at={at} />
  if (message.role === 'tool') return <ToolResult text={contentText(message.content)} words={words} more={more} />
  const text = textOf(message)
  if (isInstructions(message)) return <Instructions chat={chat} at={at} text={text} />
  return (
    <>
      {thoughtsIn(message.content).map((thought) => (
        <details class="call thought">
          <summary>
            <b>thought</b> <span class="muted">{visible(oneLine(thought, 100))}</span>
          </summary>
          <div class="inside">
            <Prose text={thought} words={words} more={more} />
          </div>
        </details>
      ))}
      <Prose text={text} words={words} more={more} />
      <Pictures chat={chat} at={at} />
      {(message.tool_calls ?? []).map((call) => (
        <Call chat={chat} call={call} />
      ))}
    </>
  )
}

/** Tags of a message: new, changed, pinned, shortened. */
function Tags({ chat: { step }, at }: { chat: Chat; at: number }): Child {
  const { context, change, live } = step
  const id = context.messageIds[at]
  const shortening = id === undefined ? undefined : context.shortened?.find((each) => each.id === id)
  return (
    <>
      {id !== undefined && change?.added.has(id) === true ? <span class="tag new">new</span> : null}
      {id !== undefined && live.get(id)?.pinned === true ? <span class="tag">pinned</span> : null}
      {id === undefined && context.observed === undefined ? <span class="tag">added by the ledger</span> : null}
      {shortening === undefined ? null : <span class="tag warn">{shortening.how}</span>}
    </>
  )
}

/** The line above a message: its role, its tags, its size and time. */
function MessageHead({ chat, at, name }: { chat: Chat; at: number; name: string }): Child {
  const { step, linked } = chat
  const { context, live, conversationId: c } = step
  const message = context.messages[at]
  const id = context.messageIds[at]
  const recorded = id === undefined ? undefined : live.get(id)
  if (message === undefined || isProgramSummary(context, at)) return null
  if (at === context.viewAt && (context.viewOffset ?? 0) === 0) return null
  const time = <Time at={recorded?.createdAt} />
  return (
    <header title={plain(name.slice(0, 200))}>
      <b class="role">{ROLES[message.role]}</b>
      {message.name === undefined ? null : <Name text={message.name} most={40} />}
      <Tags chat={chat} at={at} />
      {recorded === undefined ? null : (
        <span class="facts">
          {many(recorded.tokens, 'token')}
          {' · '}
          {linked ? (
            <a href={conversationLink({ c, at: recorded.revision })} title={`event ${String(recorded.revision)}`}>
              {time}
            </a>
          ) : (
            time
          )}
        </span>
      )}
    </header>
  )
}

/** A message of the chat. */
function Message({ chat, at }: { chat: Chat; at: number }): Child {
  const { step, focus } = chat
  const { context, change } = step
  const message = context.messages[at]
  if (message === undefined) return null
  const id = context.messageIds[at]
  const isView = at === context.viewAt
  const isSummary = isView || isProgramSummary(context, at)
  const isNew = id !== undefined && change?.added.has(id) === true
  const name = nameOf(isView, id, isSummary ? SUMMARY : 'not recorded')
  return (
    <article
      class={`msg ${isSummary ? 'system' : message.role}${isView ? ' view' : ''}${isNew ? ' added' : ''}${id !== undefined && id === focus.m ? ' sought' : ''}`}
      tabindex={-1}
      id={isNew && id === firstNew(step) ? 'new' : undefined}
      aria-label={plain(`${isSummary ? 'summary' : message.role}: ${oneLine(name, 60)}`)}
      data-i={at}
    >
      <MessageHead chat={chat} at={at} name={name} />
      <Content chat={chat} at={at} />
    </article>
  )
}

/** The messages with the indexes `from` to before `to`. A result is shown with its call. */
export function Messages({
  step,
  from,
  to,
  focus,
  linked = true,
}: {
  step: Step
  from: number
  to: number
  focus: ContextFocus
  linked?: boolean
}): Child {
  const { context } = step
  if (context === undefined) return null
  const chat: Chat = {
    step: { ...step, context },
    focus,
    words: markedWords(focus.q),
    added: newLines(step.change),
    linked,
  }
  const { indexes } = resultsOf(context)
  return (
    <>
      {Array.from(
        { length: Math.max(0, Math.min(to, context.messages.length) - from) },
        (_none, each) => from + each,
      ).map((at) => (indexes.has(at) ? null : <Message chat={chat} at={at} />))}
    </>
  )
}

/** The messages of one part. */
export const Part = ({ step, part, focus }: { step: Step; part: number; focus: ContextFocus }): Child => (
  <Messages step={step} from={part * PART_SIZE} to={(part + 1) * PART_SIZE} focus={focus} />
)
