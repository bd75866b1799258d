export { codeOf, refusalOf } from '../../packages/session-persistence/src/testkit/contract/refusal.ts'
