/** opencode, over Chat Completions. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentProgram } from '../agent.js'
import { fieldsOf, jsonOf } from '../model/request.js'

const CONTEXT_WINDOW = 200_000

export const opencode: AgentProgram = {
  name: 'opencode',
  title: 'opencode',
  installation: {
    package: 'opencode-ai',
    version: '1.18.33',
    binary: `opencode-${process.platform}-${process.arch}/bin/opencode`,
  },
  tools: {
    read: (path) => ({ name: 'read', input: { filePath: path } }),
    write: (path, content) => ({ name: 'write', input: { filePath: path, content } }),
    list: () => ({ name: 'bash', input: { command: 'ls', description: 'List the folder' } }),
    delegate: (prompt) => ({
      name: 'task',
      input: { description: 'Look at files', prompt, subagent_type: 'general' },
    }),
  },
  purposeOf(request) {
    if (request.tools.length > 0) return 'turn'
    const last = request.messages.findLast(({ role }) => role === 'user')
    return last?.texts.some((text) => /summar/iu.test(text)) === true ? 'compaction' : 'other'
  },
  summary: (text) => text,
  async configure({ home, modelUrl }) {
    const folder = join(home, '.config', 'opencode')
    await mkdir(folder, { recursive: true })
    const config = {
      autoupdate: false,
      share: 'disabled',
      model: 'mock/m1',
      small_model: 'mock/m1',
      permission: { '*': 'allow' },
      provider: {
        mock: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Mock',
          options: { baseURL: `${modelUrl}/v1`, apiKey: 'none' },
          models: { m1: { name: 'm1', tool_call: true, limit: { context: CONTEXT_WINDOW, output: 8_000 } } },
        },
      },
    }
    await writeFile(join(folder, 'opencode.json'), JSON.stringify(config))
  },
  environment: ({ home }) => ({
    XDG_DATA_HOME: join(home, '.local', 'share'),
    XDG_CONFIG_HOME: join(home, '.config'),
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
  }),
  transcripts: ['.local/share/opencode'],
  turn: (prompt, session) => ({
    words: ['run', '--format', 'json', ...(session === undefined ? [] : ['--session', session])],
    // It puts quotation marks around a prompt among its arguments, and escapes those in it.
    input: prompt,
  }),
  async sessionOf({ stdout }) {
    const events = stdout.split('\n').map((line) => fieldsOf(jsonOf(line)))
    const id = events.find(({ sessionID }) => typeof sessionID === 'string')?.['sessionID']
    return typeof id === 'string' ? id : undefined
  },
  compact: (session) => ({
    words: ['--session', session],
    // It ignores keys until it shows its last line.
    keys: [{ after: 'commands' }, '/compact', '\r', '/exit', '\r'],
  }),
  acp: { words: ['acp'] },
  tokensToCompact: CONTEXT_WINDOW,
  additions: [],
}
