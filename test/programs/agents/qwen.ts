/** Qwen Code, over Chat Completions. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentProgram } from '../agent.js'

const SETTINGS = {
  security: { auth: { selectedType: 'openai' }, folderTrust: { enabled: false } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
}

export const qwen: AgentProgram = {
  name: 'qwen',
  title: 'Qwen Code',
  installation: {
    package: '@qwen-code/qwen-code',
    version: '0.24.4',
    binary: '@qwen-code/qwen-code/cli.js',
    needsNode24: true,
  },
  tools: {
    read: (path) => ({ name: 'read_file', input: { file_path: path } }),
    write: (path, content) => ({ name: 'write_file', input: { file_path: path, content } }),
    list: () => ({
      name: 'run_shell_command',
      input: { command: 'ls', description: 'List the folder', is_background: false },
    }),
  },
  purposeOf(request) {
    const all = request.messages.map(({ texts }) => texts.join('\n')).join('\n')
    if (request.tools.length === 0 && all.includes('state_snapshot')) return 'compaction'
    return request.tools.length === 0 ? 'other' : 'turn'
  },
  summary: (text) => `<state_snapshot><overall_goal>${text}</overall_goal></state_snapshot>`,
  async configure({ home }) {
    await mkdir(join(home, '.qwen'), { recursive: true })
    await writeFile(join(home, '.qwen', 'settings.json'), JSON.stringify(SETTINGS))
  },
  environment: ({ modelUrl }) => ({
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: `${modelUrl}/v1`,
    OPENAI_MODEL: 'qwen3-coder-plus',
  }),
  transcripts: ['.qwen/projects', '.qwen/tmp'],
  turn: (prompt, session) => ({ words: ['--yolo', ...(session === undefined ? [] : ['--continue']), '-p', prompt] }),
  sessionOf: async () => 'continued',
  compact: () => ({ words: ['--yolo', '--continue'], keys: ['/compress', '\r', '/quit', '\r'] }),
  async addMcpServer({ home }, [command, ...args]) {
    const settings = { ...SETTINGS, mcpServers: { 'context-ledger': { command, args, trust: true } } }
    await writeFile(join(home, '.qwen', 'settings.json'), JSON.stringify(settings))
  },
  tokensToCompact: 1_000_000,
  additions: [],
}
