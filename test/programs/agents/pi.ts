/** pi, over Chat Completions. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentProgram } from '../agent.js'

const CONTEXT_WINDOW = 200_000

export const pi: AgentProgram = {
  name: 'pi',
  title: 'pi',
  installation: {
    package: '@earendil-works/pi-coding-agent',
    version: '1.6.0',
    binary: '@earendil-works/pi-coding-agent/dist/bundle/cli.js',
    needsNode24: true,
  },
  tools: {
    read: (path) => ({ name: 'read', input: { path } }),
    write: (path, content) => ({ name: 'write', input: { path, content } }),
    list: () => ({ name: 'bash', input: { command: 'ls' } }),
  },
  purposeOf: (request) => (request.tools.length === 0 ? 'compaction' : 'turn'),
  summary: (text) => text,
  async configure({ home, modelUrl }) {
    const folder = join(home, '.pi', 'agent')
    await mkdir(folder, { recursive: true })
    const models = {
      providers: {
        mock: {
          baseUrl: `${modelUrl}/v1`,
          apiKey: 'none',
          api: 'openai-completions',
          models: [{ id: 'm1', name: 'm1', contextWindow: CONTEXT_WINDOW, maxTokens: 8_000 }],
        },
      },
    }
    await writeFile(join(folder, 'models.json'), JSON.stringify(models))
    // By default it keeps 20,000 tokens, so that a short session has nothing to compact.
    await writeFile(join(folder, 'settings.json'), JSON.stringify({ compaction: { keepRecentTokens: 50 } }))
  },
  environment: () => ({ PI_OFFLINE: '1' }),
  transcripts: ['.pi/agent/sessions'],
  turn: (prompt, session) => ({
    words: [
      '--provider',
      'mock',
      '--model',
      'm1',
      ...(session === undefined ? [] : session === 'continued' ? ['--continue'] : ['--session', session]),
      '-p',
      prompt,
    ],
  }),
  sessionOf: async () => 'continued',
  compact: () => ({
    words: ['--provider', 'mock', '--model', 'm1', '--continue'],
    keys: ['/compact', '\r', '/quit', '\r'],
  }),
  addMcpServer: { impossible: 'it has no MCP servers' },
  tokensToCompact: CONTEXT_WINDOW - 1_000,
  additions: [],
}
