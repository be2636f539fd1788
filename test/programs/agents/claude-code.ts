/** Claude Code, over Anthropic's Messages. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { REMINDERS, type AgentProgram } from '../agent.js'
import { fieldsOf, jsonOf } from '../model/request.js'

const TOOLS = 'Bash,Read,Write,Task,Agent,mcp__context-ledger'

export const claudeCode: AgentProgram = {
  name: 'claude-code',
  title: 'Claude Code',
  installation: {
    package: '@anthropic-ai/claude-code',
    version: '2.1.332',
    binary: `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
  },
  tools: {
    read: (path) => ({ name: 'Read', input: { file_path: path } }),
    write: (path, content) => ({ name: 'Write', input: { file_path: path, content } }),
    list: () => ({ name: 'Bash', input: { command: 'ls', description: 'List the folder' } }),
    find: (name) => ({ name: 'ToolSearch', input: { query: `select:mcp__context-ledger__${name}`, max_results: 5 } }),
    delegate: (prompt) => ({
      name: 'Agent',
      input: { description: 'Look at files', prompt, subagent_type: 'general-purpose' },
    }),
  },
  purposeOf(request) {
    const last = request.messages.findLast(({ role }) => role === 'user')
    if (last?.texts.some((text) => text.includes('create a detailed summary of')) === true) return 'compaction'
    return request.tools.length === 0 ? 'other' : 'turn'
  },
  summary: (text) => `<analysis>The whole conversation.</analysis>\n<summary>${text}</summary>`,
  async configure({ home }) {
    await mkdir(join(home, '.claude'), { recursive: true })
    await writeFile(join(home, '.claude.json'), JSON.stringify({ hasCompletedOnboarding: true }))
  },
  environment: ({ modelUrl }) => ({
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'sk-ant-none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  }),
  transcripts: ['.claude/projects'],
  turn: (prompt, session) => ({
    words: [
      '-p',
      prompt,
      '--allowedTools',
      TOOLS,
      '--output-format',
      'json',
      ...(session === undefined ? [] : ['--resume', session]),
    ],
  }),
  async sessionOf({ stdout }) {
    const { session_id: id } = fieldsOf(jsonOf(stdout))
    return typeof id === 'string' ? id : undefined
  },
  compact: (session) => ({ words: ['-p', '/compact', '--output-format', 'json', '--resume', session] }),
  acp: {
    words: [],
    adapter: {
      package: '@agentclientprotocol/claude-agent-acp',
      version: '0.49.0',
      binary: '@agentclientprotocol/claude-agent-acp/dist/index.js',
    },
  },
  tokensToCompact: 985_000,
  additions: [
    REMINDERS,
    { kind: 'notification of a sub-agent', pattern: /<task-notification>[\s\S]*?<\/task-notification>\n?/gu },
  ],
}
