/**
 * Generated transcripts, the same on every machine, with the records and line lengths of real files: Claude Code 2.7 KB
 * on average, Codex 1.6 KB. The program compacts each time its model's window is full.
 */
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { prose, randomOf } from './text.js'

/** Characters of text after which a program compacts: about 155,000 tokens. */
const WINDOW = 620_000
const POOL = 1_000_000

export type Program = 'claude-code' | 'codex'

interface Writer {
  readonly random: () => number
  /** A text of about that many characters, with lines and quotes as in code. */
  readonly text: (characters: number) => string
  /** A new id. */
  readonly id: (prefix: string) => string
  /** The time; each call advances it by one second. */
  readonly now: () => string
}

function createWriter(seed: number): Writer {
  const random = randomOf(seed)
  let words = 0
  const pool = prose(random, POOL).replaceAll(' ', () => {
    words += 1
    return words % 11 === 0 ? '\n' : words % 17 === 0 ? ' "' : ' '
  })
  let ids = 0
  let seconds = 0
  return {
    random,
    text(characters) {
      const length = Math.max(1, Math.round(characters * (0.25 + 1.5 * random())))
      const from = Math.floor(random() * (POOL - length))
      return pool.slice(from, from + length)
    },
    id(prefix) {
      ids += 1
      return `${prefix}-${ids.toString(16).padStart(12, '0')}-9c2e-4b7f-a1d0`
    },
    now() {
      seconds += 1
      return new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString()
    },
  }
}

function* claudeCode(writer: Writer): Generator<string> {
  const { text, id, now, random } = writer
  const sessionId = id('session')
  let parentUuid: string | null = null
  let writtenBytes = 0
  const record = (fields: Readonly<Record<string, unknown>>): string => {
    const uuid = id('uuid')
    const line = JSON.stringify({
      parentUuid,
      isSidechain: false,
      userType: 'external',
      cwd: '/srv/harbour/quay',
      sessionId,
      version: '2.1.50',
      gitBranch: 'main',
      slug: 'quiet-walking-crane',
      ...fields,
      uuid,
      timestamp: now(),
    })
    parentUuid = uuid
    writtenBytes += line.length
    return line
  }
  for (;;) {
    yield record({ type: 'user', message: { role: 'user', content: text(200) }, permissionMode: 'default' })
    for (let step = 0; step < 8; step += 1) {
      const call = id('toolu')
      const answer = { model: 'claude-opus-4-5', id: id('msg'), type: 'message', role: 'assistant' }
      const requestId = id('req')
      const usage = { input_tokens: 8, cache_creation_input_tokens: 900, cache_read_input_tokens: 60_000 }
      const blocks = [
        { type: 'thinking', thinking: text(400), signature: text(300) },
        { type: 'text', text: text(250) },
        {
          type: 'tool_use',
          id: call,
          name: 'Edit',
          input: { file_path: text(60), old_string: text(300), new_string: text(400) },
        },
      ]
      for (const [at, block] of blocks.entries())
        yield record({
          type: 'assistant',
          requestId,
          message: { ...answer, content: [block], stop_reason: null, usage: { ...usage, output_tokens: 5 + 90 * at } },
        })
      const output = text(3_000)
      yield record({
        type: 'user',
        message: {
          role: 'user',
          content: [{ tool_use_id: call, type: 'tool_result', content: output, is_error: random() < 0.05 }],
        },
        toolUseResult: { stdout: output, stderr: '', interrupted: false, isImage: false },
        sourceToolAssistantUUID: parentUuid,
      })
    }
    if (writtenBytes < WINDOW) continue
    writtenBytes = 0
    const logicalParentUuid = parentUuid
    parentUuid = null
    yield record({
      type: 'system',
      subtype: 'compact_boundary',
      content: 'Conversation compacted',
      logicalParentUuid,
      compactMetadata: { trigger: 'auto', preTokens: 155_000 },
    })
    yield record({ type: 'user', isCompactSummary: true, message: { role: 'user', content: text(9_000) } })
  }
}

function* codex(writer: Writer): Generator<string> {
  const { text, id, now, random } = writer
  let writtenBytes = 0
  const line = (type: string, payload: Readonly<Record<string, unknown>>): string => {
    const written = JSON.stringify({ timestamp: now(), type, payload })
    writtenBytes += written.length
    return written
  }
  const item = (payload: Readonly<Record<string, unknown>>): string => line('response_item', payload)
  const session = id('session')
  const message = (role: string, type: string, words: string): Readonly<Record<string, unknown>> => ({
    type: 'message',
    role,
    content: [{ type, text: words }],
  })
  let prompts: Readonly<Record<string, unknown>>[] = []
  yield line('session_meta', {
    id: session,
    timestamp: now(),
    cwd: '/srv/harbour/quay',
    originator: 'codex-tui',
    cli_version: '0.142.2',
    source: 'cli',
    base_instructions: { text: text(12_000) },
  })
  for (;;) {
    yield line('turn_context', { cwd: '/srv/harbour/quay', model: 'gpt-5.5', approval_policy: 'never' })
    const prompt = message('user', 'input_text', text(200))
    prompts = [...prompts, prompt]
    yield item(prompt)
    for (let step = 0; step < 8; step += 1) {
      const call = id('call')
      yield item({ type: 'reasoning', id: id('rs'), summary: [], content: null, encrypted_content: text(1_200) })
      yield item({
        type: 'function_call',
        id: id('fc'),
        name: 'exec_command',
        arguments: JSON.stringify({ cmd: text(150) }),
        call_id: call,
      })
      const code = random() < 0.05 ? 1 : 0
      yield item({
        type: 'function_call_output',
        call_id: call,
        output: `Chunk ID: 1f\nProcess exited with code ${String(code)}\nOutput:\n${text(3_000)}`,
      })
      const counts = {
        input_tokens: 60_000,
        cached_input_tokens: 50_000,
        output_tokens: 300,
        total_tokens: 60_300 + step,
      }
      yield line('event_msg', {
        type: 'token_count',
        info: { total_token_usage: { ...counts, at: writtenBytes }, last_token_usage: counts },
      })
    }
    yield item(message('assistant', 'output_text', text(900)))
    if (writtenBytes < WINDOW) continue
    writtenBytes = 0
    // Codex retains the last prompts in addition to its summary.
    prompts = prompts.slice(-8)
    yield line('compacted', {
      message: '',
      replacement_history: [...prompts, { type: 'compaction', id: id('cmp'), encrypted_content: text(9_000) }],
      window_id: id('window'),
    })
  }
}

const PROGRAMS: Readonly<Record<Program, (writer: Writer) => Generator<string>>> = { 'claude-code': claudeCode, codex }

/** Writes a transcript of at least that many bytes, and returns the number of lines. */
export async function writeTranscript(path: string, program: Program, bytes: number): Promise<number> {
  const file = createWriteStream(path)
  let written = 0
  let lines = 0
  for (const line of PROGRAMS[program](createWriter(7))) {
    const text = `${line}\n`
    written += text.length
    lines += 1
    if (!file.write(text)) await once(file, 'drain')
    if (written >= bytes) break
  }
  file.end()
  await once(file, 'finish')
  return lines
}
