/** Continue's `cn`, over Chat Completions. */
import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentProgram } from '../agent.js'

const CONTEXT_WINDOW = 12_000

export const continueCli: AgentProgram = {
  name: 'continue',
  title: 'Continue',
  installation: {
    package: '@continuedev/cli',
    version: '1.5.47',
    binary: '@continuedev/cli/dist/cn.js',
    needsNode24: true,
  },
  tools: {
    read: (path) => ({ name: 'Read', input: { filepath: path } }),
    write: (path, content) => ({ name: 'Write', input: { filepath: path, content } }),
    list: () => ({ name: 'Bash', input: { command: 'ls' } }),
  },
  purposeOf(request) {
    const last = request.messages.findLast(({ role }) => role === 'user')
    // It offers its tools with this question too.
    const isQuestion = last?.texts.some((text) => text.startsWith('Please provide a concise summary of our')) === true
    return isQuestion ? 'compaction' : request.tools.length > 0 ? 'turn' : 'other'
  },
  summary: (text) => text,
  async configure({ home, modelUrl }) {
    await mkdir(join(home, '.continue'), { recursive: true })
    const config = [
      'name: mock',
      'version: 1.0.0',
      'schema: v1',
      'models:',
      '  - name: m1',
      '    provider: openai',
      '    model: m1',
      `    apiBase: ${modelUrl}/v1`,
      '    apiKey: none',
      '    roles: [chat]',
      '    capabilities: [tool_use]',
      '    defaultCompletionOptions:',
      `      contextLength: ${String(CONTEXT_WINDOW)}`,
      '      maxTokens: 1000',
      '',
    ]
    await writeFile(join(home, '.continue', 'config.yaml'), config.join('\n'))
  },
  environment: () => ({ CONTINUE_TELEMETRY_ENABLED: '0' }),
  transcripts: ['.continue/sessions'],
  turn: (prompt, session) => ({
    words: [
      '--auto',
      '--config',
      '../home/.continue/config.yaml',
      ...(session === undefined ? [] : ['--resume']),
      '-p',
      prompt,
    ],
  }),
  sessionOf: async () => 'resumed',
  compact: { impossible: 'without a terminal, `/compact` is a prompt' },
  async addMcpServer({ home }, [command, ...args]) {
    const lines = [
      'mcpServers:',
      '  - name: context-ledger',
      `    command: ${command}`,
      `    args: ${JSON.stringify(args)}`,
    ]
    await appendFile(join(home, '.continue', 'config.yaml'), `${lines.join('\n')}\n`)
  },
  // It compacts above 8,800; its instructions and tools have about 1,900.
  tokensToCompact: 7_000,
  countsTokens: true,
  additions: [],
}
