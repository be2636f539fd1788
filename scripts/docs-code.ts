/**
 * Writes each block of code in the documents as a module of its own, so that the compiler takes them with everything
 * else: `npm run typecheck` does that. What a block leaves to its reader (a model, a prompt) is declared here.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

/** What the reader has, by the names that the documents give it. */
const OWN = {
  ledger: "import('context-ledger').Ledger",
  conversationId: 'string',
  sessionId: 'string',
  prompt: 'string',
  input: 'string',
  store: 'string',
  apiKey: 'string',
  yourModel: "Parameters<typeof import('ai').wrapLanguageModel>[0]['model']",
  messages: "import('ai').ModelMessage[]",
  agent: "import('@openai/agents').Agent",
  model: 'any',
  tools: 'any',
}

/** The Claude Agent SDK brings programs of 400 MB and is not installed: as much of its types as the documents name. */
const CLAUDE_AGENT_SDK = `declare module '@anthropic-ai/claude-agent-sdk' {
  import type { LedgerSessionStore } from 'context-ledger/claude-agent-sdk'
  interface Asked { readonly prompt: string; readonly options: { readonly sessionStore: LedgerSessionStore } }
  export function query(asked: Asked): AsyncIterable<{ readonly type: string }>
}
`

// Within the package, so that it is found by its own name; `dist` is not kept.
const folder = 'dist/docs-code'
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
writeFileSync(`${folder}/claude-agent-sdk.d.ts`, CLAUDE_AGENT_SDK)

/** A block with what it takes from its reader. */
function moduleOf(code: string): string {
  const declared = Object.entries(OWN).flatMap(([name, type]) => {
    const isUsed = new RegExp(`(?<![\\w.'])${name}(?!\\w|\\??:)`, 'u').test(code)
    const isMade = new RegExp(`(?:const|using) (?:${name}|\\{[^=]*\\b${name}\\b[^=]*\\}) =`, 'u').test(code)
    return isUsed && !isMade ? [`declare const ${name}: ${type}`] : []
  })
  return [code, ...declared, 'export {}', ''].join('\n')
}

for (const document of ['README.md', ...readdirSync('docs').map((name) => `docs/${name}`)]) {
  if (!document.endsWith('.md')) continue
  const blocks = readFileSync(document, 'utf8').matchAll(/```(?:ts|js)\n([\s\S]*?)```/gu)
  for (const [at, [, code = '']] of [...blocks].entries())
    writeFileSync(`${folder}/${document.replaceAll(/\W/gu, '-')}-${String(at + 1)}.ts`, moduleOf(code))
}
