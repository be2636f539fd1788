/** Plain rules in several languages: each with a call that breaks it and calls that only look like it. */
import { describe, expect, it } from '@jest/globals'
import { rulesIn } from '../../src/application/rules/find-rules.js'
import { stepsOf } from '../../src/domain/rules/call-steps.js'
import { breaks } from '../../src/domain/rules/judge-step.js'
import { readRule } from '../../src/domain/rules/read-rule.js'
import { statesRule } from '../../src/domain/text/rules.js'

const isBroken = (rule: string, command: string): boolean =>
  stepsOf({ name: 'Bash', arguments: JSON.stringify({ command }) }).some((step) =>
    readRule(rule).conditions.some((condition) => breaks(step, condition, { ranSince: () => false })),
  )

const CASES: readonly (readonly [rule: string, breaking: readonly string[], keeping: readonly string[]])[] = [
  ['No helm upgrade before I have read the diff.', ['helm upgrade web .'], ['helm diff upgrade web .', 'helm list']],
  [
    'Auf node7 kein docker, da läuft die Abnahme.',
    ['docker -H node7 run x'],
    ['docker -H node8 run x', 'ssh node7 df'],
  ],
  ['Nada de kubectl delete en este clúster.', ['kubectl delete pod a'], ['kubectl get pods']],
  ['No rebasing please, two people have it checked out.', ['git rebase develop'], ['git merge develop']],
  ['New gems only after asking me.', ['gem install rake', 'bundle add rake'], ['bundle install']],
  ['Neue Pakete nur nach Rücksprache.', ['npm install left-pad'], ['npm install', 'npm test']],
  ['Nuevas librerías solo tras preguntarme.', ['pip install requests'], ['pip install -r requirements.txt']],
  ['ライブラリの追加は必ず先に確認してください。', ['cargo add serde'], ['cargo build']],
  ['添加新的库之前先问我。', ['go get example.com/x'], ['go build ./...']],
  ['Before every push run make lint; if it fails, no push.', ['git push'], ['make lint', 'git commit -m x']],
  ['每次 commit 之前先跑 npm test，没过不许 commit。', ['git commit -m x'], ['npm test', 'git push']],
  ['Vor jedem Commit make lint ausführen.', ['git commit -m x'], ['make lint', 'git status']],
  ['Please run pytest only with -x.', ['pytest -q'], ['pytest -x', 'pytest --exitfirst', 'npm test']],
  ['Gradle bitte nur mit --offline aufrufen.', ['gradle test'], ['gradle --offline test', 'npm test']],
  ['Cuando instales un paquete, hazlo siempre con -E.', ['pnpm add x'], ['pnpm add -E x', 'pnpm add --save-exact x']],
  ['Open all merge requests as draft (glab mr create --draft).', [], ['glab mr create --draft', 'glab mr list']],
  ['Create every release as draft (gh release create --draft).', ['gh release create v1'], ['gh release create -d v1']],
  ['Start nothing bigger than t2.small.', [], ['aws ec2 run-instances --instance-type t2.small']],
  ['No arranques nada más grande que t2.small.', [], ['aws ec2 run-instances --instance-type t2.small']],
  ['Starte nichts, was größer als t2.small ist.', [], ['aws ec2 run-instances --instance-type t2.small']],
  ['Release notes go to #news-web only.', [], ['kubectl apply -f prod.yaml --context production']],
  ["Don't change anything in config/.", ['sed -i s/a/b/ config/a.php'], ['sed -i s/a/b/ app/Config/a.php']],
  ['Ändere nichts in src/Legacy/.', ['sed -i s/a/b/ src/Legacy/a.ts'], ['sed -i s/a/b/ src/legacy/a.ts']],
  ['Do not delete packages.', [], ['npm install left-pad']],
  ['No hagas push hasta que yo te lo diga.', ['git push'], ['git commit -m x']],
  ['Kein Deploy, bis ich es sage.', ['helm upgrade web .'], ['helm list']],
]

describe('plain rules', () => {
  it.each(CASES)('%s', (rule, breaking, keeping) => {
    expect(breaking.filter((command) => !isBroken(rule, command))).toEqual([])
    expect(keeping.filter((command) => isBroken(rule, command))).toEqual([])
    expect(breaking.length === 0 || statesRule(rule)).toBe(true)
  })
})

describe('a message without capitals', () => {
  const rulesOf = (text: string): string[] =>
    rulesIn({ messageId: 'm', revision: 3, role: 'user', text, ownText: text, tokens: 1 }).map(
      ({ rule }) => `${rule.id} ${rule.text}`,
    )

  it.each([
    ['whoa. never push to trunk. where is the log kept?', ['r3.1 never push to trunk.']],
    ['moin. ändere nichts in src/alt. wo liegt das log?', ['r3.1 ändere nichts in src/alt.']],
    ['vale. no toques nada en src/viejo. ¿dónde está el log?', ['r3.1 no toques nada en src/viejo.']],
    ['add a flag to src/cli.ts. never push to trunk.', ['r3.1 never push to trunk.']],
    ['is it done? thanks. see you', []],
  ])('%s', (text, rules) => {
    expect(rulesOf(text)).toEqual(rules)
  })
})

describe('sentences that only report', () => {
  it.each([
    'No npm packages were found.',
    'No docker version was installed here.',
    'Is there no sudo on that machine?',
  ])('%s', (text) => {
    expect(statesRule(text)).toBe(false)
  })
})
