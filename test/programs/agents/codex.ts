/** Codex CLI, over OpenAI's Responses. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentProgram } from '../agent.js'
import { fieldsOf, jsonOf } from '../model/request.js'

/** Codex compacts above this number of tokens. */
const LIMIT = 200_000

export const codex: AgentProgram = {
  name: 'codex',
  title: 'Codex CLI',
  installation: {
    package: '@openai/codex',
    version: '0.171.0',
    binary: '@openai/codex/bin/codex.js',
  },
  tools: {
    read: (path) => ({ name: 'exec_command', input: { cmd: `cat ${path}` } }),
    write: (path, text) => ({ name: 'exec_command', input: { cmd: `printf '%s' '${text}' > ${path}` } }),
    list: () => ({ name: 'exec_command', input: { cmd: 'ls' } }),
  },
  purposeOf(request) {
    const last = request.messages.findLast(({ role }) => role === 'user')
    if (last?.texts.some((text) => text.includes('CONTEXT CHECKPOINT COMPACTION')) === true) return 'compaction'
    return request.tools.length === 0 ? 'other' : 'turn'
  },
  summary: (text) => text,
  async configure({ home, modelUrl }) {
    await mkdir(join(home, '.codex'), { recursive: true })
    const config = [
      'model = "gpt-5-codex"',
      'model_provider = "mock"',
      'approval_policy = "never"',
      'sandbox_mode = "danger-full-access"',
      `model_auto_compact_token_limit = ${String(LIMIT)}`,
      'model_context_window = 400000',
      '[model_providers.mock]',
      'name = "mock"',
      `base_url = "${modelUrl}/v1"`,
      'env_key = "MOCK_KEY"',
      'wire_api = "responses"',
      '',
    ]
    await writeFile(join(home, '.codex', 'config.toml'), config.join('\n'))
  },
  environment: () => ({ MOCK_KEY: 'none' }),
  transcripts: ['.codex/sessions'],
  turn: (prompt, session) => ({
    words: [
      'exec',
      ...(session === undefined ? [] : ['resume', session]),
      '--json',
      '--skip-git-repo-check',
      // Trust is given in a terminal.
      '--dangerously-bypass-hook-trust',
      prompt,
    ],
  }),
  async sessionOf({ stdout }) {
    const events = stdout.split('\n').map((line) => fieldsOf(jsonOf(line)))
    const id = events.find(({ type }) => type === 'thread.started')?.['thread_id']
    return typeof id === 'string' ? id : undefined
  },
  compact: (session) => ({
    words: ['resume', session, '--dangerously-bypass-hook-trust'],
    keys: ['/compact', '\r', '/quit', '\r'],
  }),
  tokensToCompact: LIMIT + 50_000,
  additions: [],
  // It puts a text that a hook adds after a tool between the call and its result.
  brokenRules: [/stands between calls and their results$/u],
}
