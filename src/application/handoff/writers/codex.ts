/**
 * Codex CLI: rollouts in `sessions/<year>/<month>/<day>/`. Lines and items are those of `codex-rs/protocol`; read by
 * 0.171. The items are the model's context; the program displays and lists the events. Older messages become a
 * compaction, whose replacement is the whole context so far.
 */
import { exactText } from '../../../lib/json.js'
import { shellWord } from '../../../lib/platform.js'
import { agentFolders } from '../../../lib/user-folders.js'
import { jsonLines, textOf, type SessionCall, type SessionPart, type SessionWriter } from '../session.js'

/** The version whose records these are. */
const VERSION = '0.171.0'

const inputPart = (part: SessionPart): unknown =>
  part.kind === 'text'
    ? { type: 'input_text', text: part.text }
    : { type: 'input_image', image_url: `data:${part.mediaType};base64,${part.data}` }

const userItem = (parts: readonly SessionPart[]): unknown => ({
  type: 'message',
  role: 'user',
  content: parts.map(inputPart),
})

const outputOf = (parts: readonly SessionPart[]): unknown =>
  parts.every(({ kind }) => kind === 'text') ? textOf(parts) : parts.map(inputPart)

const callItem = ({ id, name, input }: SessionCall): unknown =>
  typeof input === 'string'
    ? { type: 'custom_tool_call', status: 'completed', call_id: id, name, input }
    : { type: 'function_call', name, arguments: exactText(input) ?? '{}', call_id: id }

const resultItem = ({ id, input, result }: SessionCall): unknown => ({
  type: typeof input === 'string' ? 'custom_tool_call_output' : 'function_call_output',
  call_id: id,
  output: outputOf(result.parts),
})

const userEvent = (message: string): unknown => ({
  type: 'user_message',
  message,
  images: [],
  local_images: [],
  text_elements: [],
})

const two = (number: number): string => String(number).padStart(2, '0')

/** Directory and file name, in local time as Codex names them. */
function pathOf(at: string, id: string): string {
  const time = new Date(at)
  const [year, month, day] = [String(time.getFullYear()), two(time.getMonth() + 1), two(time.getDate())]
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join('-')
  return `sessions/${year}/${month}/${day}/rollout-${year}-${month}-${day}T${clock}-${id}.jsonl`
}

export const codexWriter: SessionWriter = {
  program: 'codex',
  home: agentFolders.codex,
  write({ id, cwd, title, at, handover, turnsBefore, turns }) {
    const lines: unknown[] = []
    const add = (timestamp: string, type: string, payload: unknown): void => {
      lines.push({ timestamp, type, payload })
    }
    add(at, 'session_meta', {
      id,
      timestamp: at,
      cwd,
      originator: 'codex_cli_rs',
      cli_version: VERSION,
      source: 'cli',
    })
    const items: unknown[] = []
    const addItem = (timestamp: string, item: unknown): void => {
      items.push(item)
      add(timestamp, 'response_item', item)
    }
    const compact = (timestamp: string): void => {
      if (handover === undefined) return
      const summary = userItem([{ kind: 'text', text: handover }])
      add(timestamp, 'compacted', { message: handover, replacement_history: [...items, summary] })
    }
    if (turnsBefore === 0) compact(at)
    // Codex lists only sessions in which a user wrote something.
    if (!turns.some(({ role }) => role === 'user')) add(at, 'event_msg', userEvent(title ?? 'Handed over'))
    for (const [index, turn] of turns.entries()) {
      if (index > 0 && index === turnsBefore) compact(turn.at)
      if (turn.role === 'user') {
        addItem(turn.at, userItem(turn.parts))
        add(turn.at, 'event_msg', userEvent(textOf(turn.parts)))
        continue
      }
      if (turn.text !== '') {
        const content = [{ type: 'output_text', text: turn.text }]
        addItem(turn.at, { type: 'message', role: 'assistant', content })
        add(turn.at, 'event_msg', { type: 'agent_message', message: turn.text })
      }
      for (const call of turn.calls) addItem(turn.at, callItem(call))
      for (const call of turn.calls) addItem(call.result.at, resultItem(call))
    }
    if (turnsBefore > 0 && turnsBefore >= turns.length) compact(at)
    if (title !== undefined) add(at, 'event_msg', { type: 'thread_name_updated', thread_id: id, thread_name: title })
    return Promise.resolve({
      path: pathOf(at, id),
      content: jsonLines(lines),
      sourceId: id,
      resume: () => [`cd ${shellWord(cwd)} && codex resume ${id}`],
    })
  },
}
