/** GitHub Copilot CLI with a provider of its user, over Chat Completions. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentProgram } from '../agent.js'
import { fieldsOf, jsonOf } from '../model/request.js'

const MAX_PROMPT_TOKENS = 100_000

export const copilotCli: AgentProgram = {
  name: 'copilot-cli',
  title: 'GitHub Copilot CLI',
  installation: {
    package: '@github/copilot',
    version: '1.0.102',
    binary: '@github/copilot/npm-loader.js',
    needsNode24: true,
  },
  tools: {
    read: (path) => ({ name: 'bash', input: { command: `cat ${path}`, description: 'Read a file' } }),
    write: (path, text) => ({
      name: 'bash',
      input: { command: `printf '%s' '${text}' > ${path}`, description: 'Write a file' },
    }),
    list: () => ({ name: 'bash', input: { command: 'ls', description: 'List the folder' } }),
  },
  purposeOf(request) {
    const last = request.messages.findLast(({ role }) => role === 'user')
    if (last?.texts.some((text) => text.includes('create a detailed summary of the conversation')) === true)
      return 'compaction'
    return request.tools.length === 0 ? 'other' : 'turn'
  },
  summary: (text) => `<overview>${text}</overview>`,
  configure: async () => undefined,
  environment: ({ modelUrl }) => ({
    COPILOT_PROVIDER_BASE_URL: `${modelUrl}/v1`,
    COPILOT_PROVIDER_API_KEY: 'none',
    COPILOT_MODEL: 'm1',
    COPILOT_PROVIDER_MAX_PROMPT_TOKENS: String(MAX_PROMPT_TOKENS),
    COPILOT_OFFLINE: 'true',
    COPILOT_AUTO_UPDATE: 'false',
  }),
  transcripts: ['.copilot/session-state'],
  turn: (prompt, session) => ({
    words: [
      '-p',
      prompt,
      '--allow-all',
      '--output-format',
      'json',
      ...(session === undefined ? [] : [`--resume=${session}`]),
    ],
  }),
  async sessionOf({ stdout }) {
    const events = stdout.split('\n').map((line) => fieldsOf(jsonOf(line)))
    const id = events.map((event) => event['sessionId'] ?? fieldsOf(event['data'])['sessionId']).findLast(Boolean)
    return typeof id === 'string' ? id : undefined
  },
  compact: (session) => ({
    words: ['--allow-all', `--resume=${session}`],
    keys: [{ after: 'Do you trust' }, '\r', '/compact', '\r', '/exit', '\r'],
  }),
  async addMcpServer({ home }, [command, ...args]) {
    await mkdir(join(home, '.copilot'), { recursive: true })
    const servers = { 'context-ledger': { type: 'local', command, args, tools: ['*'] } }
    await writeFile(join(home, '.copilot', 'mcp-config.json'), JSON.stringify({ mcpServers: servers }))
  },
  tokensToCompact: MAX_PROMPT_TOKENS,
  additions: [{ kind: 'time', pattern: /<current_datetime>[^<]*<\/current_datetime>\n*/gu }],
}
