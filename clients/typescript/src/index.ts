export type { CallOptions, PageOptions, Result, Retry } from "./calls.js";
export { Petcat, version } from "./client.js";
export type {
  Categories,
  Category,
  CategoryPatch,
  ConditionOptions,
  CreateOptions,
  ListState,
  NewCategory,
  NewOrder,
  NewPet,
  Options,
  Order,
  Orders,
  Pet,
  Pets,
  RawCategories,
  Usage,
} from "./client.js";
export { ConnectionError, PetcatError, type ErrorCode } from "./errors.js";
export type { Limits, Window } from "./limits.js";
