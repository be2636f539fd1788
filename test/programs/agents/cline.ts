/** Cline's command line, over OpenAI's Responses. */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentProgram } from '../agent.js'

export const cline: AgentProgram = {
  name: 'cline',
  title: 'Cline',
  installation: {
    package: 'cline',
    version: '3.0.65',
    binary: `@cline/cli-${process.platform}-${process.arch}/bin/cline`,
  },
  tools: {
    read: (path) => ({ name: 'read_files', input: { files: [{ path }] } }),
    write: (path, text) => ({ name: 'run_commands', input: { commands: [`printf '%s' '${text}' > ${path}`] } }),
    list: () => ({ name: 'run_commands', input: { commands: ['ls'] } }),
  },
  purposeOf(request) {
    if (request.tools.length > 0) return 'turn'
    return /summar/iu.test(JSON.stringify([request.instructions, request.messages.at(-1)])) ? 'compaction' : 'other'
  },
  summary: (text) => text,
  async configure({ home, modelUrl }) {
    const folder = join(home, '.cline', 'data', 'settings')
    await mkdir(folder, { recursive: true })
    const settings = { provider: 'openai-native', apiKey: 'none', model: 'gpt-5', baseUrl: `${modelUrl}/v1` }
    const providers = {
      version: 1,
      lastUsedProvider: 'openai-native',
      providers: { 'openai-native': { settings, updatedAt: '2026-01-01T00:00:00.000Z', tokenSource: 'manual' } },
    }
    await writeFile(join(folder, 'providers.json'), JSON.stringify(providers))
  },
  environment: () => ({ CLINE_TELEMETRY_DISABLED: '1' }),
  transcripts: ['.cline/data'],
  turn: (prompt) => ({ words: ['--json', prompt] }),
  resume: { impossible: '`--id` needs a terminal' },
  // Its output does not contain the id, which begins with the time.
  async sessionOf(_result, { home }) {
    return (await readdir(join(home, '.cline', 'data', 'sessions'))).toSorted().at(-1)
  },
  compact: { impossible: 'without a terminal it has no command that compacts' },
  async addMcpServer({ home }, [command, ...args]) {
    const file = join(home, '.cline', 'data', 'settings', 'cline_mcp_settings.json')
    await writeFile(file, JSON.stringify({ mcpServers: { 'context-ledger': { command, args } } }))
  },
  tokensToCompact: 390_000,
  additions: [],
}
