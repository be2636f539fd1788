/** A tool call of the chat: one line that folds out its arguments, its changes of a file, and its result. */
import type { Child } from 'hono/jsx'
import { exitCodeOf, toolSummary } from '../reading/tool-summary.js'
import { contentText, type ToolCall } from '../../domain/values/message.js'
import type { ChatMessage } from '../../library/ledger.js'
import { Code } from './markdown.js'
import { Lines } from './lines.js'
import { count, cut, visible } from './text.js'
import { TextDifference } from './text-difference.js'

const MAX_CHARACTERS = 4_000

/** The arguments of a call, indented if they are JSON. */
function argumentsText(text: string): { readonly text: string; readonly language: string } {
  try {
    return { text: JSON.stringify(JSON.parse(text), null, 2), language: 'json' }
  } catch {
    return { text, language: '' }
  }
}

const nameOf = (call: ToolCall): string => call.function?.name ?? call.type
function inputOf(call: ToolCall): string {
  const { id: _id, type: _type, function: called, ...others } = call
  return called?.arguments ?? JSON.stringify(others)
}

function Ending({ name, result }: { name: string; result: Pick<ChatMessage, 'content'> | undefined }): Child {
  if (result === undefined) return <span class="muted"> no result yet</span>
  const code = exitCodeOf(contentText(result.content))
  if (code === undefined) return null
  return <span class={code === 0 ? 'muted' : 'failed'}>{` → ${name === '' ? '' : 'exit '}${String(code)}`}</span>
}

function Changed({ added, removed }: { added: number; removed: number }): Child {
  return added + removed === 0 ? null : (
    <>
      {' '}
      <span class="plus">+{count(added)}</span> <span class="minus">−{count(removed)}</span>
    </>
  )
}

/** A call in one line that folds out its arguments and its result. */
export function ToolCallView({
  call,
  result,
  isOpen,
  children,
}: {
  call: ToolCall
  result: Pick<ChatMessage, 'content'> | undefined
  isOpen: boolean
  /** The message with the result. */
  children?: Child
}): Child {
  const name = nameOf(call)
  const input = inputOf(call)
  const { tool, subject, changes, added, removed } = toolSummary({ id: call.id, name, arguments: input })
  const shown = argumentsText(input)
  return (
    <details class="call" open={isOpen}>
      <summary>
        <b>{visible(tool)}</b> <code>{visible(subject)}</code>
        <Changed added={added} removed={removed} />
        <Ending name={name} result={result} />
      </summary>
      <div class="inside">
        {changes.length > 0 ? (
          <TextDifference changes={changes} name={`Changes by ${tool}`} />
        ) : (
          <Code text={cut(shown.text, MAX_CHARACTERS)} language={shown.language} />
        )}
        {children}
      </div>
    </details>
  )
}

/** The result of a call, as text. */
export function ToolResult({ text, words, more }: { text: string; words: RegExp | undefined; more: string }): Child {
  return <Lines lines={text === '' ? [] : text.split(/\r\n|\n|\r/u)} words={words} more={more} most={24} />
}
