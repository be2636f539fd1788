/** Gemini CLI, over Gemini's `generateContent`. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentProgram } from '../agent.js'

export const gemini: AgentProgram = {
  name: 'gemini',
  title: 'Gemini CLI',
  installation: {
    package: '@google/gemini-cli',
    version: '0.61.0',
    binary: '@google/gemini-cli/bundle/gemini.js',
  },
  tools: {
    read: (path) => ({ name: 'read_file', input: { file_path: path } }),
    write: (path, content) => ({ name: 'write_file', input: { file_path: path, content } }),
    list: () => ({ name: 'run_shell_command', input: { command: 'ls', description: 'List the folder' } }),
  },
  purposeOf(request) {
    if (request.instructions.includes('state_snapshot') && request.tools.length === 0) return 'compaction'
    return request.tools.length === 0 ? 'other' : 'turn'
  },
  summary: (text) => `<state_snapshot><overall_goal>${text}</overall_goal></state_snapshot>`,
  otherAnswer: () => '{"reasoning": "A simple task.", "model_choice": "pro"}',
  async configure({ home }) {
    await mkdir(join(home, '.gemini'), { recursive: true })
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
      privacy: { usageStatisticsEnabled: false },
      general: { disableAutoUpdate: true, disableUpdateNag: true },
    }
    await writeFile(join(home, '.gemini', 'settings.json'), JSON.stringify(settings))
  },
  environment: ({ modelUrl }) => ({ GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: modelUrl, NO_BROWSER: '1' }),
  transcripts: ['.gemini/tmp'],
  turn: (prompt, session) => ({
    words: ['-m', 'gemini-2.5-pro', '--yolo', ...(session === undefined ? [] : ['--resume', session]), '-p', prompt],
  }),
  sessionOf: async () => 'latest',
  compact: () => ({
    words: ['-m', 'gemini-2.5-pro', '--yolo', '--resume', 'latest'],
    keys: ['/compress', '\r', '/quit', '\r'],
  }),
  proxy: { impossible: 'the proxy passes requests of Gemini’s API on and does not record them' },
  acp: {
    words: ['--acp', '-m', 'gemini-2.5-pro'],
    compactions: { impossible: 'it reports neither compactions nor the size of the context' },
  },
  tokensToCompact: 1_000_000,
  additions: [],
  // After a resume, it sends each result once more.
  brokenRules: [/calls are not answered$/u, /results of the \d+ calls before it$/u],
}
