/** Qwen Code, over Chat Completions. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { REMINDERS, type AgentProgram } from '../agent.js'
import type { ToolUse } from '../model/script.js'

const SETTINGS = {
  security: { auth: { selectedType: 'openai' }, folderTrust: { enabled: false } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
}

const shell = (command: string): ToolUse => ({
  name: 'run_shell_command',
  input: { command, description: 'Run a command', is_background: false },
})

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
    // Its tools for files want absolute paths.
    read: (path) => shell(`cat ${path}`),
    write: (path, text) => shell(`printf '%s' '${text}' > ${path}`),
    list: () => shell('ls'),
    find: (name) => ({ name: 'tool_search', input: { query: name } }),
    bridge: (name, input) => ({
      name: 'tool_call',
      input: { name: `mcp__context-ledger__${name}`, arguments: input },
    }),
  },
  purposeOf(request) {
    const all = request.messages.map(({ texts }) => texts.join('\n')).join('\n')
    // It offers its tools with the question if it hopes for the prompt cache.
    const last = request.messages.findLast(({ role }) => role === 'user')?.texts.at(-1) ?? ''
    if (last.includes('<state_snapshot>') && !last.startsWith('<state_snapshot>')) return 'compaction'
    // A sub-agent of its own, which works on a copy of the conversation.
    if (all.includes('memory extraction subagent')) return 'other'
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
  // Above 977,000 it refuses the next prompt.
  tokensToCompact: 940_000,
  // Skills, date and directory: none of it is in its transcript.
  additions: [REMINDERS],
}
