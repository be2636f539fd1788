/** Reads rules in the form in which the guard compares calls with them. A hook loads this only if rules have changed. */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { ruleOf, rulesOfFile } from '../../../application/rules/find-rules.js'
import type { Rule } from '../../../domain/rules/rule.js'
import { withoutUndefined } from '../../../lib/without-undefined.js'
import { writeGuarded, type GuardedRule, type GuardedRules } from './guard-folder.js'

/** The conditions of a rule. */
export function guardedRule({ id, text, scope, since }: Pick<Rule, 'id' | 'text' | 'scope' | 'since'>): GuardedRule {
  const { conditions } = ruleOf({ id, text, scope, since, source: 'added', standing: 'confirmed' })
  return { id, text, scope, at: since.at, conditions }
}

/** Reads the conditions of rules again, which another version of this program read. */
export const renewGuarded = (guarded: GuardedRules): GuardedRules => ({
  ...guarded,
  rules: guarded.rules.map((rule) => guardedRule({ ...rule, since: withoutUndefined({ at: rule.at }) })),
})

/** Reads the rules of a rule file, and keeps them. */
export function readGuardedFile(folder: string, path: string, version: string): readonly GuardedRule[] {
  const rules = rulesOfFile(basename(path), readFileSync(path, 'utf8')).map(({ rule, conditions }) => ({
    id: rule.id,
    text: rule.text,
    scope: 'everywhere' as const,
    conditions,
  }))
  writeGuarded(folder, { origin: path, version, rules })
  return rules
}
