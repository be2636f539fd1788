/** A tool call of the chat: one line that folds out its arguments, its changes of a file, and its result. */
import type { Child } from 'hono/jsx'
import { toReportCall } from '../../../application/loss-report/compaction-reports.js'
import type { ReportToolCall } from '../../../application/loss-report/report-input.js'
import { exitCodeOf, toolSummary, type CallResult } from '../reading/tool-summary.js'
import type { ToolCall } from '../../../domain/values/message.js'
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

/** The call for people: a call of an unknown kind has its fields as arguments. */
function readable(call: ToolCall): ReportToolCall {
  const { id: _id, type: _type, function: called, custom, ...others } = call
  const read = toReportCall(call)
  return called === undefined && custom === undefined ? { ...read, arguments: JSON.stringify(others) } : read
}

function Ending({ result }: { result: CallResult | undefined }): Child {
  if (result === undefined) return <span class="muted"> no result yet</span>
  const code = exitCodeOf(result)
  if (code !== undefined) return <span class={code === 0 ? 'muted' : 'failed'}>{` → exit ${String(code)}`}</span>
  return result.attributes['isError'] === true ? <span class="failed"> → failed</span> : null
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
  result: CallResult | undefined
  isOpen: boolean
  /** The message with the result. */
  children?: Child
}): Child {
  const read = readable(call)
  const { tool, subject, changes, added, removed } = toolSummary(read)
  const formatted = argumentsText(read.arguments)
  return (
    <details class="call" open={isOpen}>
      <summary>
        <b>{visible(tool)}</b> <code>{visible(subject)}</code>
        <Changed added={added} removed={removed} />
        <Ending result={result} />
      </summary>
      <div class="inside">
        {changes.length > 0 ? (
          <TextDifference changes={changes} name={`Changes by ${tool}`} isScrolling={false} />
        ) : (
          <Code text={cut(formatted.text, MAX_CHARACTERS)} language={formatted.language} />
        )}
        {children}
      </div>
    </details>
  )
}

/** The result of a call, as text. */
export function ToolResult({
  text,
  words,
  more,
}: {
  text: string
  words: RegExp | undefined
  more: string | undefined
}): Child {
  return <Lines lines={text === '' ? [] : text.split(/\r\n|\n|\r/u)} words={words} more={more} most={24} />
}
